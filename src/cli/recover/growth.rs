//! What the growth of one PVC has come to.

use serde::Serialize;

use crate::claims::Claim;
use crate::claims::progress::{Resize, Trouble};
use crate::rollout::ClaimState;
use crate::rollout::lowered::least_request;
use crate::rollout::readiness::{explain, has_capacity, has_failed, is_infeasible, needs_pod, state_at_target};
use crate::templates::{ClaimTemplate, Quantity};

/// What the growth of a claim has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum GrowthState {
    /// The claim has the size that it requests.
    Reached,
    /// The storage is working on it, or has not begun.
    Growing,
    /// The driver failed, and tries again.
    Retried,
    /// The driver reports that it cannot do it.
    Infeasible,
    /// The volume has grown, and the file system has not.
    OnNode,
    /// The API server denies the write of the controller.
    Denied,
    /// The claim has no volume.
    Unbound,
    /// The claim is being deleted.
    Terminating,
    /// The claim belongs to somebody else.
    Foreign,
}

impl GrowthState {
    /// What the claim shows, if it is one of the set. What it requests counts, whatever its template has.
    pub(crate) fn of(template: &ClaimTemplate, claim: &Claim) -> Self {
        if claim.terminating {
            return Self::Terminating;
        }
        let own = of_request(template);
        if !claim.bound {
            Self::Unbound
        } else if has_capacity(claim, &own) {
            Self::Reached
        } else if has_failed(claim, Resize::ControllerInfeasible) {
            Self::Infeasible
        } else if needs_pod(claim) && claim.resize != Some(Resize::NodeInProgress) {
            Self::OnNode
        } else if claim.trouble(&Trouble::EXPANSION).is_some() {
            Self::Retried
        } else {
            Self::Growing
        }
    }

    /// True iff the driver does not do what the claim requests.
    pub(crate) const fn is_failed(self) -> bool {
        matches!(self, Self::Retried | Self::Infeasible)
    }

    /// A remark for the table: what the storage reports.
    pub(crate) fn note(self, template: &ClaimTemplate, claim: &Claim) -> String {
        match self {
            Self::Reached | Self::Denied | Self::Foreign => String::new(),
            Self::Terminating => "is being deleted".to_owned(),
            Self::Growing if is_infeasible(claim) => "waits for its attributes class".to_owned(),
            Self::Growing | Self::Retried | Self::Infeasible | Self::OnNode | Self::Unbound => {
                let own = of_request(template);
                let state = match self {
                    Self::Unbound => ClaimState::Unbound,
                    _ => state_at_target(claim, &own),
                };
                explain(state, claim, &own).1
            }
        }
    }
}

/// The smallest size that a claim may request instead: more than its capacity, and less than it requests now.
pub(crate) fn least(claim: &Claim) -> Option<Quantity> {
    least_request(claim).filter(|least| *least < claim.request)
}

/// The template as if it had the size that the claim requests.
fn of_request(template: &ClaimTemplate) -> ClaimTemplate {
    ClaimTemplate {
        storage: None,
        ..template.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::{GrowthState, least};
    use crate::claims::Claim;
    use crate::claims::progress::{Modify, Resize};
    use crate::rollout::fixtures::{gi, template, trouble, web};

    fn claim(change: impl FnOnce(&mut Claim)) -> Claim {
        let mut claim = web().claim("data-web-1").clone();
        claim.request = gi(4);
        change(&mut claim);
        claim
    }

    type Row = (&'static str, fn(&mut Claim), GrowthState, &'static str);

    const ROWS: [Row; 13] = [
        (
            "reached",
            |claim| claim.capacity = Some(gi(4)),
            GrowthState::Reached,
            "",
        ),
        ("more", |claim| claim.capacity = Some(gi(5)), GrowthState::Reached, ""),
        ("not begun", |_| {}, GrowthState::Growing, "capacity 1Gi of 4Gi"),
        (
            "no volume",
            |claim| claim.bound = false,
            GrowthState::Unbound,
            "waiting for a volume",
        ),
        (
            "deleted",
            |claim| claim.terminating = true,
            GrowthState::Terminating,
            "is being deleted",
        ),
        (
            "in progress",
            |claim| claim.resize = Some(Resize::ControllerInProgress),
            GrowthState::Growing,
            "capacity 1Gi of 4Gi",
        ),
        (
            "an error that the driver retries",
            |claim| {
                claim.resize = Some(Resize::ControllerInProgress);
                claim.troubles.push(trouble("ControllerResizeError"));
            },
            GrowthState::Retried,
            "capacity 1Gi of 4Gi; ControllerResizeError of the driver",
        ),
        (
            "infeasible",
            |claim| {
                claim.resize = Some(Resize::ControllerInfeasible);
                claim.troubles.push(trouble("ControllerResizeError"));
            },
            GrowthState::Infeasible,
            "ControllerResizeError of the driver",
        ),
        (
            "on the node",
            |claim| claim.resize = Some(Resize::NodePending),
            GrowthState::OnNode,
            "capacity 1Gi of 4Gi",
        ),
        (
            "the node works",
            |claim| claim.resize = Some(Resize::NodeInProgress),
            GrowthState::Growing,
            "capacity 1Gi of 4Gi",
        ),
        (
            "the node cannot",
            |claim| {
                claim.resize = Some(Resize::NodeInfeasible);
                claim.troubles.push(trouble("NodeResizeError"));
            },
            GrowthState::OnNode,
            "NodeResizeError of the driver",
        ),
        (
            "its class is infeasible and its size is not",
            |claim| (claim.modify, claim.class) = (Some(Modify::Infeasible), Some("gold".to_owned())),
            GrowthState::Growing,
            "waits for its attributes class",
        ),
        (
            "an old error",
            |claim| {
                claim.capacity = Some(gi(4));
                claim.troubles.push(trouble("ControllerResizeError"));
            },
            GrowthState::Reached,
            "",
        ),
    ];

    #[test]
    fn growth_is_what_the_claim_shows() {
        let data = template("data", "1Gi");
        for (row, change, expected, note) in ROWS {
            let claim = claim(change);
            let growth = GrowthState::of(&data, &claim);
            assert_eq!((growth, &*growth.note(&data, &claim)), (expected, note), "{row}");
        }
    }

    #[test]
    fn least_is_between_capacity_and_request() {
        let least = |capacity, request| {
            let claim = claim(|claim| (claim.capacity, claim.request) = (capacity, request));
            least(&claim).map(|least| least.to_string())
        };
        assert_eq!(least(Some(gi(10)), gi(1024)).as_deref(), Some("10241Mi"));
        assert_eq!(least(Some(gi(10)), "10241Mi".parse().expect("a size")), None);
        assert_eq!(least(Some(gi(10)), gi(10)), None);
        assert_eq!(least(None, gi(10)), None);
    }
}

//! When a claim is updated and ready, and the states of a claim.

use crate::claims::Claim;
use crate::claims::compatible::differences;
use crate::claims::progress::{Modify, Resize, Trouble};
use crate::templates::words::words;
use crate::templates::{ClaimTemplate, Quantity, RevisionLabel};

/// The reason of a claim that somebody changed after our apply.
pub const CHANGED_BY_OTHERS: &str = "ChangedByOthers";

/// The reason of a claim without its volume.
pub const WITHOUT_VOLUME: &str = "Lost";

/// The reason of a `Pending` claim whose turn has not come.
pub const WAITING: &str = "Waiting";

/// Why a claim that asks for less than its template stays as it is.
const LOWERED: &str = "somebody took its size or class back: set it again, or withdraw the change and stage it anew";

/// Why a claim without its volume stays as it is.
const LOST: &str = "its volume does not exist any more, so a new Pod could not start";

words! {
    /// The state of a claim, as in the status, in metrics and on the command line. In the usual order.
    pub enum ClaimState {
        /// The PVC is outdated, and its turn has not come.
        Pending,
        /// The PVC has no volume, so that it can neither be patched nor become ready.
        Unbound,
        /// The PVC was patched, and the driver has not started.
        Applied,
        /// The driver expands the volume.
        Expanding,
        /// The node has to expand the file system.
        NodeExpanding,
        /// The driver changes the attributes class.
        Modifying,
        /// The driver reports that the change is infeasible.
        Infeasible,
        /// The API server denies the patch, or stores something else, or somebody has lowered the PVC since.
        Refused,
        /// The PVC does not belong to the StatefulSet. Nothing is written.
        Foreign,
        /// The PVC is being deleted.
        Terminating,
        /// The PVC does not exist.
        Missing,
        /// The PVC is updated and ready.
        Done,
    }
}

impl ClaimState {
    /// True iff somebody must act before the claim can make progress.
    #[must_use]
    pub const fn is_stalled(self) -> bool {
        matches!(self, Self::Infeasible | Self::Refused | Self::Foreign)
    }

    /// True iff the claim was written and is not ready yet.
    #[must_use]
    pub const fn is_in_motion(self) -> bool {
        matches!(
            self,
            Self::Applied | Self::Expanding | Self::NodeExpanding | Self::Modifying
        )
    }
}

/// True iff the claim carries the label, and the size and the class of that apply were stored. Such a claim is never
/// written again, whatever its spec is now (S8).
#[must_use]
pub fn is_at(claim: &Claim, template: &ClaimTemplate, label: &RevisionLabel) -> bool {
    label.is_on(&claim.labels) && !was_dropped(claim, template)
}

/// True iff the label was stored and the size or the class of the same apply was not: a webhook changed it, or a
/// feature is off. The claim itself shows it, so a controller that did not see the reply knows it as well.
///
/// A value that another manager has set since stays. But if only our apply owns a smaller size or another class, that
/// value is what became of our apply. If our apply owns a class that is missing, a feature is off.
fn was_dropped(claim: &Claim, template: &ClaimTemplate) -> bool {
    let smaller = |asked: Quantity| claim.size_is_ours && claim.request < asked;
    let another = |asked: &str| claim.class_is_ours && claim.class.as_deref() != Some(asked);
    let class = template.volume_attributes_class_name.as_deref();
    template.storage.is_some_and(smaller) || class.is_some_and(|asked| !asked.is_empty() && another(asked))
}

/// True iff the claim requests at least the size of the template, and has no difference in a field that cannot change.
#[must_use]
pub fn is_compatible(claim: &Claim, template: &ClaimTemplate) -> bool {
    let large_enough = template.storage.is_none_or(|wanted| claim.request >= wanted);
    large_enough && differences(template, &claim.spec).next().is_none()
}

/// True iff the claim requests less than the template. Where our apply was stored, somebody has lowered the request since:
/// the API server accepts that while the volume has not grown (KEP-1790).
#[must_use]
pub fn asks_for_less(claim: &Claim, template: &ClaimTemplate) -> bool {
    template.storage.is_some_and(|wanted| claim.request < wanted)
}

/// True iff the capacity is at least the size of the template.
///
/// By KEP-4650, the request of the claim suffices if it is smaller. But then somebody has lowered it after our apply, and
/// the template is not reached.
#[must_use]
pub fn has_capacity(claim: &Claim, template: &ClaimTemplate) -> bool {
    let wanted = template.storage.unwrap_or(claim.request);
    claim.capacity.is_some_and(|capacity| capacity >= wanted)
}

/// True iff the volume has the attributes class that the claim requests; no class and `""` are the same.
#[must_use]
#[inline(never)]
pub fn has_class(claim: &Claim) -> bool {
    claim.class.as_deref().unwrap_or_default() == claim.current_class.as_deref().unwrap_or_default()
}

/// True iff the template has an attributes class, and the claim requests none: where our apply was stored, somebody has
/// removed it since. The API server accepts that while the volume has no class.
fn lacks_class(claim: &Claim, template: &ClaimTemplate) -> bool {
    let is_empty = |class: &Option<String>| class.as_ref().is_none_or(String::is_empty);
    is_empty(&claim.class) && !is_empty(&template.volume_attributes_class_name)
}

/// True iff the claim is bound, and has the capacity and the attributes class.
///
/// The revision is not checked. Call this for updated claims only: a view that is older than the apply may show a claim
/// that has everything it requests.
#[must_use]
pub fn is_ready(claim: &Claim, template: &ClaimTemplate) -> bool {
    claim.bound && has_capacity(claim, template) && has_class(claim) && !lacks_class(claim, template)
}

/// True iff the driver has reported what the claim requests as infeasible. Only the statuses count: a condition also
/// contains errors that the driver retries, and keeps them.
#[must_use]
pub fn is_infeasible(claim: &Claim) -> bool {
    has_failed_to_grow(claim) || has_failed_to_modify(claim)
}

fn has_failed_to_grow(claim: &Claim) -> bool {
    has_failed(claim, Resize::ControllerInfeasible) || has_failed(claim, Resize::NodeInfeasible)
}

/// True iff this status is about the size that the claim requests. It stays after a new request until the driver has
/// looked at that.
#[must_use]
#[inline(never)]
pub fn has_failed(claim: &Claim, status: Resize) -> bool {
    claim.resize == Some(status) && claim.allocated.is_none_or(|allocated| allocated == claim.request)
}

/// True iff the driver has reported the requested class as infeasible. The status stays when the class is taken back.
#[inline(never)]
fn has_failed_to_modify(claim: &Claim) -> bool {
    let is_asked = claim.modify_class.is_none() || claim.modify_class == claim.class;
    claim.modify == Some(Modify::Infeasible) && is_asked && !has_class(claim)
}

/// True iff the node has to expand the file system. The kubelet may have failed: if the volume has to be mounted again,
/// every kubelet does.
fn is_on_the_node(claim: &Claim) -> bool {
    match claim.resize {
        Some(resize) => matches!(resize, Resize::NodePending | Resize::NodeInProgress),
        // Before Kubernetes had a status for it.
        None => claim.file_system_resize_pending.is_some(),
    }
}

/// True iff only the node has work to do, or has failed for good: a new Pod that mounts the volume may fix it.
#[must_use]
pub fn needs_pod(claim: &Claim) -> bool {
    has_class(claim) && (is_on_the_node(claim) || has_failed(claim, Resize::NodeInfeasible))
}

/// The state of a claim that is not bound. One whose volume is lost will not get another.
#[must_use]
pub const fn state_unbound(claim: &Claim) -> ClaimState {
    if claim.lost {
        ClaimState::Refused
    } else {
        ClaimState::Unbound
    }
}

/// The state of an updated claim.
#[must_use]
pub fn state_at_target(claim: &Claim, template: &ClaimTemplate) -> ClaimState {
    if !claim.bound {
        return state_unbound(claim);
    }
    if is_ready(claim, template) {
        return ClaimState::Done;
    }
    if asks_for_less(claim, template) || lacks_class(claim, template) {
        return ClaimState::Refused;
    }
    let has_capacity = has_capacity(claim, template);
    if has_failed_to_modify(claim) || !has_capacity && has_failed_to_grow(claim) {
        return ClaimState::Infeasible;
    }
    if has_capacity {
        return ClaimState::Modifying;
    }
    let expands = claim.resizing || claim.resize == Some(Resize::ControllerInProgress);
    let modifies = claim.modify.is_some() || claim.trouble(&Trouble::MODIFICATION).is_some();
    if is_on_the_node(claim) {
        ClaimState::NodeExpanding
    } else if expands || claim.trouble(&Trouble::EXPANSION).is_some() {
        ClaimState::Expanding
    } else if !has_class(claim) && modifies {
        ClaimState::Modifying
    } else {
        ClaimState::Applied
    }
}

/// True iff the Pod that mounts the claim must not be replaced yet (KEP-4650, "Updated Reconciliation Logic"; S7): the
/// claim is outdated, or it is not ready for another reason than pending work of the node.
///
/// Some drivers finish an expansion only when the volume is mounted again, so pending work of the node does not keep
/// the Pod. Neither does a missing volume: the claim cannot be written without one, and the new Pod may fix it. A volume
/// that is lost keeps it: the new Pod could not start.
#[must_use]
pub fn keeps_pod(claim: &Claim, template: &ClaimTemplate, label: &RevisionLabel) -> bool {
    if claim.terminating || !claim.bound {
        return claim.lost && !claim.terminating;
    }
    if is_ready_at(claim, template, label) {
        return false;
    }
    !(is_at(claim, template, label) && needs_pod(claim))
}

fn is_ready_at(claim: &Claim, template: &ClaimTemplate, label: &RevisionLabel) -> bool {
    is_at(claim, template, label) && is_ready(claim, template)
}

/// Why a claim is in this state: reason and message.
#[must_use]
pub fn explain(state: ClaimState, claim: &Claim, template: &ClaimTemplate) -> (String, String) {
    let sizes = || {
        let capacity = claim
            .capacity
            .as_ref()
            .map_or_else(|| "none".to_owned(), Quantity::to_string);
        let wanted = template.storage.unwrap_or(claim.request);
        format!("capacity {capacity} of {wanted}")
    };
    let class = || {
        let name = |class: &Option<String>| class.clone().unwrap_or_else(|| "none".to_owned());
        format!(
            "attributes class {}, expected {}",
            name(&claim.current_class),
            name(&claim.class)
        )
    };
    let (reason, message) = match state {
        ClaimState::Unbound => ("NotBound", "waiting for a volume".to_owned()),
        ClaimState::Applied => (
            "NotBegun",
            if has_capacity(claim, template) {
                class()
            } else {
                sizes()
            },
        ),
        ClaimState::Expanding => ("Resizing", sizes()),
        ClaimState::NodeExpanding => ("FileSystemResizePending", sizes()),
        ClaimState::Modifying if claim.modify == Some(Modify::Pending) => {
            ("ModifyVolumePending", format!("{}: the class may not exist", class()))
        }
        ClaimState::Modifying => ("ModifyingVolume", class()),
        ClaimState::Infeasible => ("Infeasible", "not possible for the driver".to_owned()),
        ClaimState::Refused if claim.lost => (WITHOUT_VOLUME, LOST.to_owned()),
        ClaimState::Refused => (CHANGED_BY_OTHERS, LOWERED.to_owned()),
        _ => ("", String::new()),
    };
    let trouble = match state {
        ClaimState::Expanding | ClaimState::NodeExpanding => claim.trouble(&Trouble::EXPANSION),
        ClaimState::Modifying => claim.trouble(&Trouble::MODIFICATION),
        ClaimState::Infeasible if has_failed_to_modify(claim) => claim.trouble(&Trouble::MODIFICATION),
        ClaimState::Infeasible => claim.trouble(&Trouble::EXPANSION),
        _ => None,
    };
    match trouble {
        Some(trouble) if state == ClaimState::Infeasible => (trouble.reason.clone(), trouble.message.clone()),
        // The driver retries it.
        Some(trouble) => (trouble.reason.clone(), format!("{message}; {}", trouble.message)),
        None => (reason.to_owned(), message),
    }
}

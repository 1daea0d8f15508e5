//! The words *at the wish* and *ready*, and the states of a claim.

use std::fmt;

use crate::claims::Claim;
use crate::claims::compatible::differences;
use crate::claims::progress::{Modify, Resize, Trouble};
use crate::templates::{ClaimTemplate, Quantity, Revision, keys};

/// The reason of a claim that is `Pending` and is waited for by nobody: its turn comes.
pub const WAITING: &str = "Waiting";

/// How far a claim has come. One vocabulary everywhere: status, events, metrics, command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ClaimState {
    /// Not yet reached.
    Pending,
    /// It has no volume, so it can neither be written nor become ready.
    Unbound,
    /// Written; nobody has begun to work on it.
    Applied,
    /// The volume is being expanded.
    Expanding,
    /// The file system is to be expanded by the node.
    NodeExpanding,
    /// The attributes class is being changed.
    Modifying,
    /// The driver says that it cannot be done.
    Infeasible,
    /// The API server says no.
    Refused,
    /// It is not the set's.
    Foreign,
    /// It is being deleted.
    Terminating,
    /// It does not exist.
    Missing,
    /// It is at the wish, and ready.
    Done,
}

impl ClaimState {
    /// Every state, in the order in which a claim usually goes through them.
    pub const ALL: [Self; 12] = [
        Self::Pending,
        Self::Unbound,
        Self::Applied,
        Self::Expanding,
        Self::NodeExpanding,
        Self::Modifying,
        Self::Infeasible,
        Self::Refused,
        Self::Foreign,
        Self::Terminating,
        Self::Missing,
        Self::Done,
    ];

    /// The state as it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Unbound => "Unbound",
            Self::Applied => "Applied",
            Self::Expanding => "Expanding",
            Self::NodeExpanding => "NodeExpanding",
            Self::Modifying => "Modifying",
            Self::Infeasible => "Infeasible",
            Self::Refused => "Refused",
            Self::Foreign => "Foreign",
            Self::Terminating => "Terminating",
            Self::Missing => "Missing",
            Self::Done => "Done",
        }
    }

    /// The state that is written so; nothing where none is.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == text)
    }

    /// True iff somebody has to do something before it goes on.
    #[must_use]
    pub const fn is_stalled(self) -> bool {
        matches!(self, Self::Infeasible | Self::Refused | Self::Foreign)
    }

    /// True iff it was written and is on its way.
    #[must_use]
    pub const fn is_in_motion(self) -> bool {
        matches!(
            self,
            Self::Applied | Self::Expanding | Self::NodeExpanding | Self::Modifying
        )
    }

    /// True iff somebody should look at it.
    #[must_use]
    pub const fn is_stuck(self) -> bool {
        matches!(self, Self::Refused | Self::Infeasible | Self::Foreign)
    }
}

impl fmt::Display for ClaimState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// True iff the claim carries the revision, and what was asked for with it was stored. Such a claim is never written again,
/// whatever it holds now (S8).
#[must_use]
pub fn is_at(claim: &Claim, template: &ClaimTemplate, revision: &Revision) -> bool {
    let carries = claim.labels.get(keys::REVISION);
    carries.is_some_and(|label| label == revision.as_str()) && !was_dropped(claim, template)
}

/// True iff the label was stored and the size or the class of the same apply was not: a webhook changed it, or a feature is
/// off. The claim itself says so, also to a controller that did not see the reply.
///
/// A value that somebody else has asked for since is theirs, and stays. But a smaller size or another class that no one but
/// our apply owns is what became of it; and where a class was asked for, none is nobody's choice: the API server lets no
/// one take a class away.
fn was_dropped(claim: &Claim, template: &ClaimTemplate) -> bool {
    let smaller = |asked: Quantity| claim.size_is_ours && claim.request < asked;
    let another = |asked: &str| match claim.class.as_deref().unwrap_or_default() {
        "" => true,
        class => claim.class_is_ours && class != asked,
    };
    let class = template.volume_attributes_class_name.as_deref();
    template.storage.is_some_and(smaller) || class.is_some_and(|asked| !asked.is_empty() && another(asked))
}

/// True iff the claim asks for at least what the template asks for, and differs in nothing that cannot change.
#[must_use]
pub fn is_compatible(claim: &Claim, template: &ClaimTemplate) -> bool {
    let large_enough = template.storage.is_none_or(|wanted| claim.request >= wanted);
    large_enough && differences(template, &claim.spec).next().is_none()
}

/// True iff the capacity is at least the smaller one of the template's and the claim's request (KEP-4650).
///
/// A claim that was grown beyond the template need only have reached the template.
#[must_use]
pub fn has_capacity(claim: &Claim, template: &ClaimTemplate) -> bool {
    let wanted = template
        .storage
        .map_or(claim.request, |wanted| wanted.min(claim.request));
    claim.capacity.is_some_and(|capacity| capacity >= wanted)
}

/// True iff the volume has the attributes class that the claim asks for; none and `""` are the same.
#[must_use]
pub fn has_class(claim: &Claim) -> bool {
    let name = |class: &Option<String>| class.clone().unwrap_or_default();
    name(&claim.class) == name(&claim.current_class)
}

/// True iff the claim is bound, and has the capacity and the attributes class.
///
/// What it does not do: look whether the claim is at a revision. Only of a claim that is may it be asked, so that the
/// answer does not come from a view that is older than the apply.
#[must_use]
pub fn is_ready(claim: &Claim, template: &ClaimTemplate) -> bool {
    claim.bound && has_capacity(claim, template) && has_class(claim)
}

/// True iff the driver has said that it cannot do what the claim asks for. Its statuses say so and no condition does: an
/// error that it tries again is in a condition, too, and stays there.
#[must_use]
pub fn is_infeasible(claim: &Claim) -> bool {
    let resize = [Some(Resize::ControllerInfeasible), Some(Resize::NodeInfeasible)];
    resize.contains(&claim.resize) || claim.modify == Some(Modify::Infeasible)
}

/// True iff the file system is to be expanded by the node. Its kubelet may have tried and failed: where the volume has to be
/// mounted again every kubelet does.
fn is_on_the_node(claim: &Claim) -> bool {
    match claim.resize {
        Some(resize) => matches!(resize, Resize::NodePending | Resize::NodeInProgress),
        // From before there was a status for it.
        None => claim.file_system_resize_pending.is_some(),
    }
}

/// True iff only the node has work to do, or has failed at it for good: a Pod that mounts the volume again may be the cure.
#[must_use]
pub fn needs_pod(claim: &Claim) -> bool {
    has_class(claim) && (is_on_the_node(claim) || claim.resize == Some(Resize::NodeInfeasible))
}

/// How far a claim at the wish has come.
#[must_use]
pub fn state_at_target(claim: &Claim, template: &ClaimTemplate) -> ClaimState {
    if !claim.bound {
        return ClaimState::Unbound;
    }
    if is_ready(claim, template) {
        return ClaimState::Done;
    }
    if is_infeasible(claim) {
        return ClaimState::Infeasible;
    }
    if has_capacity(claim, template) {
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

/// True iff the Pod that mounts the claim must not be replaced yet (KEP-4650, "Updated Reconciliation Logic"; S7): the claim
/// is not at the revision, or not ready for another reason than that its node has work to do.
///
/// Some drivers finish an expansion only when the volume is mounted again, so a Pod that is to be replaced is replaced then.
/// Nor is a claim without a volume waited for: it cannot be written before it has one, and the new Pod may be the cure.
#[must_use]
pub fn keeps_pod(claim: &Claim, template: &ClaimTemplate, revision: &Revision) -> bool {
    if claim.terminating || !claim.bound || is_ready_at(claim, template, revision) {
        return false;
    }
    !(is_at(claim, template, revision) && needs_pod(claim))
}

fn is_ready_at(claim: &Claim, template: &ClaimTemplate, revision: &Revision) -> bool {
    is_at(claim, template, revision) && is_ready(claim, template)
}

/// Why a claim is in this state, as one word and in words.
#[must_use]
pub fn explain(state: ClaimState, claim: &Claim, template: &ClaimTemplate) -> (String, String) {
    let sizes = || {
        let capacity = claim
            .capacity
            .as_ref()
            .map_or_else(|| "none".to_owned(), Quantity::to_string);
        let wanted = template
            .storage
            .map_or(claim.request, |wanted| wanted.min(claim.request));
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
        ClaimState::Unbound => ("NotBound", "waits for a volume".to_owned()),
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
            let waits = "it waits, perhaps for that class to exist";
            ("ModifyVolumePending", format!("{}: {waits}", class()))
        }
        ClaimState::Modifying => ("ModifyingVolume", class()),
        ClaimState::Infeasible => ("Infeasible", "the driver cannot do it".to_owned()),
        _ => ("", String::new()),
    };
    let trouble = match state {
        ClaimState::Expanding | ClaimState::NodeExpanding => claim.trouble(&Trouble::EXPANSION),
        ClaimState::Modifying => claim.trouble(&Trouble::MODIFICATION),
        ClaimState::Infeasible if claim.modify == Some(Modify::Infeasible) => claim.trouble(&Trouble::MODIFICATION),
        ClaimState::Infeasible => claim.trouble(&Trouble::EXPANSION),
        _ => None,
    };
    match trouble {
        Some(trouble) if state == ClaimState::Infeasible => (trouble.reason.clone(), trouble.message.clone()),
        // It is tried again.
        Some(trouble) => (trouble.reason.clone(), format!("{message}; {}", trouble.message)),
        None => (reason.to_owned(), message),
    }
}

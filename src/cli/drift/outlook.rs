//! Forecasts whether a rollout will update an outdated PVC.

use crate::claims::Claim;
use crate::gate::readiness::is_at;
use crate::gate::{Idle, Target};
use crate::templates::ClaimTemplate;

/// The outlook of an outdated claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outlook {
    /// The rollout will update the claim.
    Coming,
    /// The claim stays as it is: the update policy is OnClaimDelete.
    Left,
    /// The rollout is stalled for this reason.
    Stalled(String),
    /// No rollout will update the claim.
    Nobody,
}

impl Outlook {
    /// The outlook of a claim. The template is what the claim can get of it.
    pub(super) fn of(target: Result<&Target<'_>, &Idle>, template: &ClaimTemplate, claim: &Claim) -> Self {
        match target {
            // Written once, never written again (S8).
            Ok(target) if is_at(claim, template, &target.label) => Self::Nobody,
            Ok(_) => Self::Coming,
            Err(Idle::OnClaimDelete) => Self::Left,
            Err(Idle::NothingStaged | Idle::Withdrawn) => Self::Nobody,
            Err(idle) => Self::Stalled(idle.to_string()),
        }
    }

    /// The outlook as a note for the user.
    pub(super) fn note(&self) -> String {
        match self {
            Self::Coming => "the rollout will update it".to_owned(),
            Self::Left => "unchanged with OnClaimDelete".to_owned(),
            Self::Stalled(why) => why.clone(),
            Self::Nobody => "no rollout will update it".to_owned(),
        }
    }
}

//! Forecasts whether a rollout will update an outdated PVC.

use crate::api::Settings;
use crate::claims::Claim;
use crate::claims::compatible::in_place;
use crate::rollout::readiness::is_at;
use crate::rollout::{Idle, SetView, Target};
use crate::templates::ClaimTemplate;

/// The outlook of an outdated claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outlook {
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
    /// The outlook of a claim.
    pub(crate) fn of(set: &SetView, settings: &Settings, claim: &Claim) -> Self {
        let is_of = |template: &&ClaimTemplate| {
            let name = claim.name.strip_prefix(&template.name);
            name.is_some_and(|name| name.starts_with(&format!("-{}-", set.name)))
        };
        match Target::of(set, settings) {
            // Written once, never written again (S8).
            Ok(target) => {
                let template = target.change.templates.iter().find(is_of);
                let template = template.map(|template| in_place(template, claim, settings.immutable_fields));
                let is_at = template.is_some_and(|template| is_at(claim, &template, &target.label));
                if is_at { Self::Nobody } else { Self::Coming }
            }
            Err(Idle::OnClaimDelete) => Self::Left,
            Err(Idle::NothingStaged | Idle::Withdrawn) => Self::Nobody,
            Err(idle) => Self::Stalled(idle.to_string()),
        }
    }

    /// The outlook as a note for the user.
    pub(crate) fn note(self) -> String {
        match self {
            Self::Coming => "the rollout will update it".to_owned(),
            Self::Left => "unchanged with OnClaimDelete".to_owned(),
            Self::Stalled(why) => why,
            Self::Nobody => "no rollout will update it".to_owned(),
        }
    }
}

//! Whether a claim that lags behind its template is going to be brought up.

use crate::api::Settings;
use crate::claims::Claim;
use crate::rollout::readiness::is_at;
use crate::rollout::{Idle, SetView, Target};
use crate::templates::ClaimTemplate;

/// What will become of such a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outlook {
    /// The rollout brings it up, sooner or later.
    Coming,
    /// It is meant to stay as it is: the update policy is OnClaimDelete.
    Left,
    /// The rollout is in the way of itself, for this reason.
    Stalled(String),
    /// Nobody will.
    Nobody,
}

impl Outlook {
    /// The outlook of a claim. The controller's settings are not known here: the defaults count.
    pub(crate) fn of(set: &SetView, claim: &Claim) -> Self {
        let is_of = |template: &&ClaimTemplate| {
            let name = claim.name.strip_prefix(&template.name);
            name.is_some_and(|name| name.starts_with(&format!("-{}-", set.name)))
        };
        match Target::of(set, &Settings::default()) {
            // Written once, never written again (S8).
            Ok(target) => {
                let template = target.change.templates.iter().find(is_of);
                let is_at = template.is_some_and(|template| is_at(claim, template, &target.revision));
                if is_at { Self::Nobody } else { Self::Coming }
            }
            Err(Idle::OnClaimDelete) => Self::Left,
            Err(Idle::NothingStaged | Idle::Withdrawn) => Self::Nobody,
            Err(idle) => Self::Stalled(idle.to_string()),
        }
    }

    /// The same in a few words.
    pub(crate) fn note(self) -> String {
        match self {
            Self::Coming => "the rollout brings it up".to_owned(),
            Self::Left => "stays so with OnClaimDelete".to_owned(),
            Self::Stalled(why) => why,
            Self::Nobody => "no rollout brings it up".to_owned(),
        }
    }
}

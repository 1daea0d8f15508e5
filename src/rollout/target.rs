//! What is wished for a set: the staged templates, if the controller may roll them out.

use super::idle::Idle;
use super::snapshot::SetView;
use crate::api::Settings;
use crate::api::settings::Mode;
use crate::templates::show::path_of;
use crate::templates::{ClaimName, ClaimTemplate, Diff, Revision, Rules, StagedChange, UpdatePolicy};

/// A wish that is to be rolled out to existing claims.
#[derive(Clone, Debug, PartialEq)]
pub struct Target<'a> {
    /// The record that holds it.
    pub change: &'a StagedChange,
    /// Its revision.
    pub revision: Revision,
}

/// What applies to the set: its annotation, else what was in force when the wish was staged.
#[must_use]
pub fn update_policy(set: &SetView) -> UpdatePolicy {
    set.update_policy
        .or(set.staged.as_ref().map(|change| change.update_policy))
        .unwrap_or_default()
}

impl<'a> Target<'a> {
    /// The staged change of the set, if it counts: for the claims that are created, for the Pods that wait, and for the
    /// claims that are there.
    ///
    /// Every rule of the settings that can be checked without knowing who asked is checked again, because whoever may edit
    /// the StatefulSet may have written the staged change while the policy was away.
    ///
    /// # Errors
    /// [`Idle`] if there is none, or it does not count.
    pub fn staged(set: &'a SetView, settings: &Settings) -> Result<Self, Idle> {
        if let Some(why) = set.unreadable.clone() {
            return Err(Idle::Unreadable { why });
        }
        let Some(change) = &set.staged else {
            return Err(Idle::NothingStaged);
        };
        if set.terminating {
            return Err(Idle::Terminating);
        }
        if settings.mode == Mode::ValidateOnly {
            return Err(Idle::ValidateOnly);
        }
        if let Some(owner) = &set.controller
            && settings.skips_owned_by(owner.group(), &owner.kind)
        {
            return Err(Idle::Owned { by: owner.clone() });
        }
        let rules = settings.rules_of_staged(update_policy(set));
        if let Some(why) = broken_rule(set, &rules, &change.templates) {
            return Err(Idle::Unsound { why });
        }
        Ok(Self {
            change,
            revision: change.revision(),
        })
    }

    /// True iff the set itself has the wanted templates: it was staged to bring claims to them.
    #[must_use]
    pub fn is_live(&self, set: &SetView) -> bool {
        Diff::between(&set.live, &self.change.templates).is_empty()
    }

    /// What is to be rolled out to the claims of the set.
    ///
    /// # Errors
    /// [`Idle`] if nothing is.
    pub fn of(set: &'a SetView, settings: &Settings) -> Result<Self, Idle> {
        let target = Self::staged(set, settings)?;
        if let Some(claims) = set.too_many_claims(&target.change.templates) {
            return Err(Idle::TooManyClaims { claims });
        }
        match update_policy(set) {
            UpdatePolicy::OnClaimDelete => Err(Idle::OnClaimDelete),
            UpdatePolicy::ReCreate => Err(Idle::ReCreate),
            UpdatePolicy::InPlace => Ok(target),
        }
    }
}

/// The first rule of admission that the wanted templates break.
fn broken_rule(set: &SetView, rules: &Rules<'_>, wanted: &[ClaimTemplate]) -> Option<String> {
    let diff = Diff::between(&set.live, wanted);
    if let Some(fault) = rules.faults(&diff, wanted, &set.live).first() {
        return Some(fault.to_string());
    }
    let last = set.first_ordinal.saturating_add(set.replicas);
    wanted.iter().find_map(|template| {
        let error = ClaimName::new(&template.name, &set.name, last).err()?;
        Some(format!("{}: {error}", path_of(&template.name)))
    })
}

#[cfg(test)]
#[path = "target_tests.rs"]
mod tests;

//! The target of a StatefulSet: the staged templates, if the controller may roll them out.

use super::idle::Idle;
use super::set_view::SetView;
use crate::api::Settings;
use crate::api::settings::{Mode, ReCreate};
use crate::templates::rules::Frozen;
use crate::templates::show::path_of;
use crate::templates::{ClaimName, ClaimTemplate, Diff, RevisionLabel, Rules, StagedChange, UpdatePolicy};

/// The desired templates that are rolled out to existing claims.
#[derive(Clone, Debug, PartialEq)]
pub struct Target<'a> {
    /// The staged change that contains the templates.
    pub change: &'a StagedChange,
    /// The label of updated claims: the target revision and its staging.
    pub label: RevisionLabel,
}

/// The update policy of the set: its annotation, else the policy in force when the change was staged.
#[must_use]
pub fn update_policy(set: &SetView) -> UpdatePolicy {
    set.update_policy
        .or(set.staged.as_ref().map(|change| change.update_policy))
        .unwrap_or_default()
}

/// The update policy that is reported: where nothing is staged, the one that a change would get.
#[must_use]
pub fn policy_in_force(set: &SetView, settings: &Settings) -> UpdatePolicy {
    match (set.update_policy, &set.staged) {
        (None, None) => settings.default_update_policy,
        _ => update_policy(set),
    }
}

/// True iff PVCs that cannot get the desired templates in place are deleted and created anew.
#[must_use]
pub fn recreates(set: &SetView) -> bool {
    update_policy(set) == UpdatePolicy::ReCreate
}

/// Whether existing PVCs keep their immutable fields. Under `ReCreate` they do not: they are deleted.
#[must_use]
pub fn frozen(set: &SetView, settings: &Settings) -> Frozen {
    if recreates(set) {
        Frozen::Deny
    } else {
        settings.immutable_fields
    }
}

impl<'a> Target<'a> {
    /// The staged change of the set, if it is in effect: for new claims, for Pods at the gate, and for existing claims.
    ///
    /// Every rule of the settings that does not depend on the requester is checked again, because anybody who may edit
    /// the StatefulSet can have written the staged change while the policy was away.
    ///
    /// # Errors
    /// [`Idle`] if there is no staged change, or it is not in effect.
    pub fn staged(set: &'a SetView, settings: &Settings) -> Result<Self, Idle> {
        if set.terminating && set.staged.is_some() && set.unreadable.is_none() {
            return Err(Idle::Terminating);
        }
        Self::sound(set, settings)
    }

    /// The same, also if the set is being deleted: perhaps it is being replaced.
    ///
    /// # Errors
    /// [`Idle`] if there is no staged change, or the settings do not allow it.
    pub fn sound(set: &'a SetView, settings: &Settings) -> Result<Self, Idle> {
        if let Some(why) = set.unreadable.clone() {
            return Err(Idle::Unreadable { why });
        }
        let Some(change) = &set.staged else {
            return Err(Idle::NothingStaged);
        };
        if settings.mode == Mode::ValidateOnly {
            return Err(Idle::ValidateOnly);
        }
        if let Some(why) = set.not_supported {
            return Err(Idle::NotSupported { why });
        }
        if set.is_held {
            return Err(Idle::StagedBeforePolicy);
        }
        if let Some(owner) = &set.controller
            && settings.skips_owned_by(owner.group(), &owner.kind)
        {
            return Err(Idle::Owned { by: owner.clone() });
        }
        let rules = settings.rules_of_staged(update_policy(set), set.replace_set);
        if let Some(why) = broken_rule(set, &rules, &change.templates) {
            return Err(Idle::Unsound { why });
        }
        Ok(Self {
            change,
            label: change.label(),
        })
    }

    /// True iff the staged change is removed when every claim is updated: the live templates are the staged ones.
    #[must_use]
    pub fn is_to_be_removed(&self, set: &SetView) -> bool {
        !set.templates_can_change && Diff::between(&set.live, &self.change.templates).is_empty()
    }

    /// The staged change, if it is rolled out to existing claims.
    ///
    /// # Errors
    /// [`Idle`] if nothing is rolled out.
    pub fn of(set: &'a SetView, settings: &Settings) -> Result<Self, Idle> {
        let target = Self::staged(set, settings)?;
        if let Some(claims) = set.too_many_claims(&target.change.templates) {
            return Err(Idle::TooManyClaims { claims });
        }
        match update_policy(set) {
            UpdatePolicy::OnClaimDelete => Err(Idle::OnClaimDelete),
            UpdatePolicy::ReCreate if settings.recreate != ReCreate::Allowed => Err(Idle::ReCreate),
            UpdatePolicy::InPlace | UpdatePolicy::ReCreate => Ok(target),
        }
    }
}

/// The first rule of admission that the desired templates break.
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

//! What is wished for a set: the staged templates, if the controller may roll them out.

use std::fmt;

use super::snapshot::{Owner, SetView};
use crate::templates::{Change, ClaimName, ClaimTemplate, Diff, Record, Revision, UpdatePolicy, diff, keys};

/// A wish that is to be rolled out to existing claims.
#[derive(Clone, Debug, PartialEq)]
pub struct Wish<'a> {
    /// The record that holds it.
    pub record: &'a Record,
    /// Its revision.
    pub revision: Revision,
}

/// Why nothing is to be rolled out. Claims and Pods of such a set need not be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Idle {
    /// There is no valid record: the live templates are the wish, and claims were born from them.
    NothingStaged,
    /// The set is being deleted.
    Terminating,
    /// Another controller owns the set, and would undo what is staged.
    Owned {
        /// The controller.
        by: Owner,
    },
    /// Only claims created from now on get the new templates.
    OnClaimDelete,
    /// Claims would have to be deleted, which is not enabled.
    ReCreate,
    /// The record asks for what the policy would have refused: somebody else wrote it.
    Unsound {
        /// The first rule that is broken.
        why: String,
    },
}

/// What applies to the set: its annotation, else what was in force when the wish was staged.
#[must_use]
pub fn update_policy(set: &SetView) -> UpdatePolicy {
    set.update_policy
        .or(set.staged.as_ref().map(|record| record.update_policy))
        .unwrap_or_default()
}

impl<'a> Wish<'a> {
    /// What is to be rolled out to the claims of the set.
    ///
    /// Every rule that can be checked without knowing who asked is checked again, because whoever may edit the set may
    /// have written the record while the policy was away.
    ///
    /// # Errors
    /// [`Idle`] if nothing is.
    pub fn of(set: &'a SetView) -> Result<Self, Idle> {
        let Some(record) = &set.staged else {
            return Err(Idle::NothingStaged);
        };
        if set.terminating {
            return Err(Idle::Terminating);
        }
        if let Some(owner) = &set.controller {
            return Err(Idle::Owned { by: owner.clone() });
        }
        match update_policy(set) {
            UpdatePolicy::OnClaimDelete => return Err(Idle::OnClaimDelete),
            UpdatePolicy::ReCreate => return Err(Idle::ReCreate),
            UpdatePolicy::InPlace => {}
        }
        if let Some(why) = broken_rule(set, &record.templates) {
            return Err(Idle::Unsound { why });
        }
        Ok(Self {
            record,
            revision: record.revision(),
        })
    }
}

/// The first rule of admission that the wanted templates break.
fn broken_rule(set: &SetView, wanted: &[ClaimTemplate]) -> Option<String> {
    let diff = Diff::between(&set.live, wanted);
    if let Some(name) = diff.added.first().or(diff.removed.first()) {
        return Some(format!(
            "{}: expected the templates of the set, but found one added or removed",
            diff::path_of(name)
        ));
    }
    for change in &diff.changed {
        let path = diff::path_of(&change.template);
        if let Some(frozen) = change.frozen.first() {
            return Some(format!("{path}.{}: expected no change, but found one", frozen.field));
        }
        if let Some(broken) = change.changes.iter().find(|change| !is_allowed(change)) {
            return Some(format!(
                "{path}.{}: expected a change that is allowed, but found another",
                broken.field()
            ));
        }
    }
    let last = set.first_ordinal.saturating_add(set.replicas);
    wanted.iter().find_map(|template| {
        let error = ClaimName::new(&template.name, &set.name, last).err()?;
        Some(format!("{}: {error}", diff::path_of(&template.name)))
    })
}

fn is_allowed(change: &Change) -> bool {
    match change {
        Change::Storage { from, to: Some(to) } => to.bytes().is_ok() && from.is_none_or(|from| *to >= from),
        Change::Storage { to: None, .. } => false,
        Change::VolumeAttributesClass { .. } => true,
        Change::Label(change) | Change::Annotation(change) => !keys::is_reserved(&change.key),
    }
}

impl Idle {
    /// The reason as one word.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::NothingStaged => "NothingStaged",
            Self::Terminating => "SetTerminating",
            Self::Owned { .. } => "SetOwned",
            Self::OnClaimDelete => "OnClaimDelete",
            Self::ReCreate => "ReCreateNotEnabled",
            Self::Unsound { .. } => "RecordUnsound",
        }
    }

    /// True iff somebody has to do something before the wish can be reached.
    #[must_use]
    pub const fn is_stalled(&self) -> bool {
        matches!(self, Self::Unsound { .. } | Self::ReCreate | Self::Owned { .. })
    }
}

impl fmt::Display for Idle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingStaged => f.write_str("nothing is staged: the templates of the set are the wish"),
            Self::Terminating => f.write_str("the set is being deleted"),
            Self::Owned { by } => write!(f, "the set is owned by {} {}", by.kind, by.name),
            Self::OnClaimDelete => f.write_str("only claims created from now on get the new templates"),
            Self::ReCreate => f.write_str("the update policy is ReCreate, which is not enabled"),
            Self::Unsound { why } => write!(f, "the record is not honoured: {why}"),
        }
    }
}

#[cfg(test)]
#[path = "wish_tests.rs"]
mod tests;

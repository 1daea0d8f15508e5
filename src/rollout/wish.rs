//! What is wished for a set: the staged templates, if the controller may roll them out.

use std::fmt;

use super::course::Course;
use super::snapshot::{Earlier, Seconds, SetView};
use crate::api::reasons::Kind;
use crate::api::settings::Mode;
use crate::api::{ReadyReason, Settings};
use crate::claims::Owner;
use crate::templates::show::path_of;
use crate::templates::{ClaimName, ClaimTemplate, Diff, Record, RecordError, Revision, Rules, UpdatePolicy};

/// For how many seconds it is believed that the policy is registered, or is not.
pub const POLICY_RECHECK: Seconds = 15;

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
    /// The same, but there was a record: its wish was dropped.
    Withdrawn,
    /// The set is being deleted.
    Terminating,
    /// The settings say that nothing is staged: `mode: ValidateOnly`.
    ValidateOnly,
    /// Another controller owns the set, and would undo what is staged.
    Owned {
        /// The controller.
        by: Owner,
    },
    /// Only claims created from now on get the new templates.
    OnClaimDelete,
    /// Claims would have to be deleted, which is not enabled.
    ReCreate,
    /// The set has more replicas than any cluster has room for.
    TooManyClaims {
        /// How many claims they have.
        claims: u64,
    },
    /// Nobody judges who stages a change in this namespace: neither the policy nor the guard is registered there.
    PolicyMissing {
        /// What may not be read, if that is why nothing is known of them.
        unread: Option<String>,
    },
    /// What the controller wrote was put back, so that it would never come to an end.
    WriteUndone {
        /// What it wrote.
        what: String,
        /// When it is tried again.
        retry_at: Seconds,
    },
    /// What is staged cannot be read: it is damaged, or a newer version wrote it. Nothing is known of it, so nothing is
    /// done.
    Unreadable {
        /// Why.
        why: RecordError,
    },
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
        let Some(record) = &set.staged else {
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
        if let Some(why) = broken_rule(set, &rules, &record.templates) {
            return Err(Idle::Unsound { why });
        }
        Ok(Self {
            record,
            revision: record.revision(),
        })
    }

    /// True iff the set itself has the wanted templates: it was staged to bring claims to them.
    #[must_use]
    pub fn is_live(&self, set: &SetView) -> bool {
        Diff::between(&set.live, &self.record.templates).is_empty()
    }

    /// What is to be rolled out to the claims of the set.
    ///
    /// # Errors
    /// [`Idle`] if nothing is.
    pub fn of(set: &'a SetView, settings: &Settings) -> Result<Self, Idle> {
        let wish = Self::staged(set, settings)?;
        if let Some(claims) = set.too_many_claims(&wish.record.templates) {
            return Err(Idle::TooManyClaims { claims });
        }
        match update_policy(set) {
            UpdatePolicy::OnClaimDelete => Err(Idle::OnClaimDelete),
            UpdatePolicy::ReCreate => Err(Idle::ReCreate),
            UpdatePolicy::InPlace => Ok(wish),
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

impl Idle {
    /// What is reported.
    #[must_use]
    pub const fn reason(&self) -> ReadyReason {
        match self {
            Self::NothingStaged => ReadyReason::NothingStaged,
            Self::Withdrawn => ReadyReason::Withdrawn,
            Self::Terminating => ReadyReason::SetTerminating,
            Self::ValidateOnly => ReadyReason::ValidateOnly,
            Self::Owned { .. } => ReadyReason::SetOwned,
            Self::OnClaimDelete => ReadyReason::OnClaimDelete,
            Self::ReCreate => ReadyReason::ReCreateNotEnabled,
            Self::TooManyClaims { .. } => ReadyReason::TooManyClaims,
            Self::PolicyMissing { .. } => ReadyReason::PolicyMissing,
            Self::WriteUndone { .. } => ReadyReason::WriteUndone,
            Self::Unreadable { .. } => ReadyReason::StagedChangeUnreadable,
            Self::Unsound { .. } => ReadyReason::RecordUnsound,
        }
    }

    /// The same as one word.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        self.reason().as_str()
    }

    /// The same, by what was reported before: where nothing is staged any more, that a wish was dropped.
    ///
    /// A wish that has become the live templates was not dropped.
    #[must_use]
    pub fn after(self, earlier: Option<&Earlier>, live: &Revision) -> Self {
        let (Self::NothingStaged, Some(earlier)) = (&self, earlier) else {
            return self;
        };
        let was_dropped = if earlier.ready == Self::Withdrawn.as_str() {
            earlier.revision == *live
        } else {
            earlier.ready != Self::NothingStaged.as_str() && earlier.revision != *live
        };
        if was_dropped { Self::Withdrawn } else { self }
    }

    /// True iff the claims of the set are looked at for the report, although nothing is done about them: how many of them
    /// lag, and which ask for more than they will get. Not where there are more than are looked at of any set.
    #[must_use]
    pub fn looks_at_claims(&self, set: &SetView) -> bool {
        matches!(self, Self::OnClaimDelete | Self::Withdrawn) && set.too_many_claims(set.wanted()).is_none()
    }

    /// True iff somebody has to do something before the wish can be reached.
    #[must_use]
    pub fn is_stalled(&self) -> bool {
        self.reason().kind() == Kind::Stalled
    }

    /// After how many seconds it is looked at again, although nothing of the StatefulSet changes.
    #[must_use]
    pub fn wake(&self, now: Seconds) -> Option<Seconds> {
        match self {
            Self::PolicyMissing { .. } => Some(POLICY_RECHECK),
            Self::WriteUndone { retry_at, .. } => Some(retry_at.saturating_sub(now).max(1)),
            _ => None,
        }
    }

    /// What there is to report. A set that is going is not ready: its wish was not reached.
    #[must_use]
    pub fn course(&self) -> Course {
        Course {
            reason: self.reason(),
            message: self.to_string(),
        }
    }
}

impl fmt::Display for Idle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NothingStaged => f.write_str("nothing is staged: the templates of the set are the wish"),
            Self::Withdrawn => f.write_str(
                "what was staged is withdrawn: the templates of the set are the wish again, and claims stay as they are",
            ),
            Self::Terminating => f.write_str("the set is being deleted"),
            Self::ValidateOnly => f.write_str("the setting mode is ValidateOnly: nothing is rolled out"),
            Self::Owned { by } => write!(f, "the set is owned by {} {}", by.kind, by.name),
            Self::OnClaimDelete => f.write_str("only claims created from now on get the new templates"),
            Self::ReCreate => f.write_str("the update policy is ReCreate, which is not enabled"),
            Self::TooManyClaims { claims } => write!(
                f,
                "the replicas have {claims} claims, and of one set no more than {} are looked at",
                SetView::MOST_CLAIMS
            ),
            Self::PolicyMissing { unread: None } => f.write_str(
                "neither the policy nor the guard is registered for this namespace, so anybody could have staged this: \
                 register one of them, or start the controller with --allow-without-policy",
            ),
            Self::PolicyMissing { unread: Some(why) } => write!(
                f,
                "the controller cannot see whether the policy or the guard is registered for this namespace: {why}"
            ),
            Self::WriteUndone { what, .. } => write!(
                f,
                "the policy put back what this controller wrote ({what}): name its account in the setting controllerAccounts"
            ),
            Self::Unreadable { why } => write!(f, "what is staged cannot be read, so nothing is done: {why}"),
            Self::Unsound { why } => write!(f, "the record is not honoured: {why}"),
        }
    }
}

#[cfg(test)]
#[path = "wish_tests.rs"]
mod tests;

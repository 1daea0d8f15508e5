//! A StatefulSet with nothing left to do: what it must keep to stay so, and when it is looked at all the same.
//!
//! Its status is no part of it: other controllers write that again and again, also long after a rollout. Which of its claims
//! are at the wish depends on what it asks for (`generation`: replicas, ordinals, the update strategy), on our annotations, on
//! who owns it, and on what was reported. It also depends on the claims, which are not watched any more; so it is looked at
//! again every few hours, in case that one was made anew while the policy was away.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use kube::ResourceExt;

use super::crd::ClaimRollout;
use super::slim::Set;
use crate::rollout::{Seconds, SetView, Target};
use crate::templates::Phase;

/// How often it is looked at although nothing has changed.
const EVERY: Seconds = 8 * 60 * 60;

/// For how long it is not looked at in any case: who has just begun to lead has other things to do.
const QUIET: Seconds = 10 * 60;

/// What a set with nothing left to do depends on, in eight bytes: there are thousands of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Basis(u64);

impl Basis {
    pub(super) fn of(set: &Set, report: Option<&ClaimRollout>) -> Self {
        let mut hasher = DefaultHasher::new();
        let metadata = &set.metadata;
        metadata.generation.hash(&mut hasher);
        metadata.deletion_timestamp.is_some().hash(&mut hasher);
        set.annotations().hash(&mut hasher);
        let owners = metadata.owner_references.iter().flatten();
        let controllers = owners.filter(|owner| owner.controller == Some(true));
        let controllers = controllers.map(|owner| (&owner.api_version, &owner.kind, &owner.uid));
        controllers.collect::<Vec<_>>().hash(&mut hasher);
        report
            .map(|report| (report.uid(), report.resource_version()))
            .hash(&mut hasher);
        Self(hasher.finish())
    }
}

/// That nothing was left to do, and for how long that is believed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settled {
    basis: Basis,
    due: Seconds,
}

impl Settled {
    /// Nothing is left to do for a set of this namespace now.
    pub(super) fn since(now: Seconds, namespace: &str, basis: Basis) -> Self {
        let due = now.saturating_add(until_check(namespace, now));
        Self { basis, due }
    }

    /// For how many seconds it need not be looked at; nothing if it must be now.
    pub(super) fn rests(&self, now: Seconds, basis: Basis) -> Option<Seconds> {
        // A clock that was set back by days would keep it waiting for days.
        let left = self
            .due
            .checked_sub(now)
            .filter(|left| (1..EVERY + QUIET).contains(left));
        left.filter(|_| self.basis == basis)
    }
}

/// Seconds until the sets of a namespace are looked at again: all of them at the same time, for which its claims are listed
/// once; those of another one at another time.
fn until_check(namespace: &str, now: Seconds) -> Seconds {
    let mut hasher = DefaultHasher::new();
    namespace.hash(&mut hasher);
    let next = EVERY - now.wrapping_add(hasher.finish() % EVERY) % EVERY;
    if next < QUIET { next + EVERY } else { next }
}

/// True iff an earlier controller has reported that this wish is reached by as many replicas as there are now, in this
/// generation. So a start and a failover read no claims where there is nothing to do.
pub(super) fn was_reached(set: &SetView, target: &Target<'_>, report: &ClaimRollout) -> bool {
    let Some(status) = &report.status else { return false };
    let spec = &report.spec;
    let ready = status.conditions.iter().find(|condition| condition.type_ == "Ready");
    let templates = status.volume_claim_templates.iter();
    let mut finished = templates.map(|template| template.finished_reconciliation_generation);
    target.change.phase == Phase::Complete
        && !target.is_live(set)
        && spec.set_ref.uid == set.uid
        && (&*spec.revision, &*status.update_revision) == (target.revision.as_str(), target.revision.as_str())
        && spec.sync == set.sync.to_string()
        && Some(status.observed_generation) == report.metadata.generation
        && status.replicas == Some(i64::from(set.replicas))
        && finished.all(|finished| finished == Some(set.generation))
        && ready.is_some_and(|ready| ready.status == "True" && ready.reason == "Complete")
}

#[cfg(test)]
#[path = "settled_tests.rs"]
mod tests;

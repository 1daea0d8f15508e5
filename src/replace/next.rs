//! The third decision: the next step of a replacement.
//!
//! | the set of this name | the journal | what is done |
//! |---|---|---|
//! | the old one, unmarked | any | check, journal, mark, delete |
//! | the old one, marked, being deleted | any | wait for the garbage collector, journal, let go |
//! | absent | `Releasing` | create |
//! | the new one, marked | `Releasing` | verify, restore |
//! | the new one, unmarked | `Releasing` | somebody else created it: compare |
//! | any other, marked | absent | unmark |

use super::adopt;
use super::check::{self, Check};
use super::journal::{Journal, JournaledPod, Stage};
use super::live::LiveSet;
use super::step::{End, Fault, SetVersion, Step, Waits};
use super::world::{Dependents, Millis, Part, PodFacts, ReportOwner, World};
use crate::api::ReplacementReason as Reason;
use crate::templates::keys;

/// How long no object must have referred to the old set before it is let go. The caches of the controllers follow
/// within this time; a StatefulSet controller that does not see the old ControllerRevisions would create new ones.
pub const SETTLING: Millis = 2_000;

/// How often the references are read while the garbage collector removes them.
const POLL: Millis = 200;

/// After this time, what others should have done counts as stalled.
const PATIENCE: Millis = 60_000;

/// The next step.
///
/// The function is total and deterministic, and needs nothing but the objects: so a replacement goes on after a crash
/// at any step, and two controllers do not disturb each other.
///
/// # Guarantees
/// * A set is created only after its old object was let go by us, exactly as it was at that moment.
/// * A set that a user deleted before that is not created again.
/// * No Pod is deleted or restarted: the new set keeps them with a partition until it has adopted them at the old
///   revision.
#[must_use]
pub fn next(world: &World<'_>) -> Step {
    match (&world.set, &world.journal) {
        (None, None) => Step::End(End::Nothing),
        (None, Some(journal)) if journal.stage == Stage::Releasing && !world.namespace_ends => {
            Step::Create(journal.recreated())
        }
        (None, Some(_)) => Step::DeleteJournal,
        (Some(set), Some(journal)) if journal.uid != set.uid() => adopt::next(world, set, journal),
        (Some(set), journal) if set.terminating() => match set.is_marked() {
            true => release(world, set, journal.as_ref()),
            // A user deleted it.
            false if journal.is_some() => Step::DeleteJournal,
            false => Step::End(End::Nothing),
        },
        (Some(set), journal) => begin(world, set, journal.as_ref()),
    }
}

/// The set is as it always was, or marked.
fn begin(world: &World<'_>, set: &LiveSet, journal: Option<&Journal>) -> Step {
    let end = match check::check(world, set) {
        Check::Unread(part) => return Step::Read(part),
        Check::Refused(fault) => End::Refused(fault),
        Check::NotAsked => End::Nothing,
        Check::Allowed => return prepare(world, set, journal),
    };
    if set.is_marked() {
        let when_deleted = journal.and_then(|journal| journal.when_deleted.clone());
        return unmark(set, when_deleted);
    }
    match (journal, &world.report) {
        (Some(_), _) => Step::DeleteJournal,
        // The ClaimRollout has lost its owner.
        (None, ReportOwner::Nobody) => own_report(set),
        (None, _) => Step::End(end),
    }
}

/// The set may be replaced.
fn prepare(world: &World<'_>, set: &LiveSet, journal: Option<&Journal>) -> Step {
    let Some(_) = journal.filter(|journal| journal.stage == Stage::Prepared) else {
        let journal = Journal::begin(set, Vec::new(), world.now).map(Box::new);
        return journal.map_or(Step::End(End::Nothing), Step::WriteJournal);
    };
    if let ReportOwner::Set(_) = world.report {
        return Step::DisownReport;
    }
    if !set.is_marked() || set.when_deleted() == Some("Delete") {
        return Step::Mark(version(set));
    }
    Step::Delete {
        uid: set.uid().to_owned(),
        resource_version: Some(set.resource_version().to_owned()),
    }
}

/// The old set is being deleted, and our finalizer keeps it.
fn release(world: &World<'_>, set: &LiveSet, journal: Option<&Journal>) -> Step {
    let Some(journal) = journal else {
        // Without a staged change it is a new set that somebody deletes: the replacement had come to its last step.
        if set.annotation(keys::STAGED).is_none() {
            return unmark(set, None);
        }
        let journal = Journal::begin(set, Vec::new(), world.now).map(Box::new);
        return journal.map_or_else(|| unmark(set, None), Step::WriteJournal);
    };
    if let ReportOwner::Set(_) = world.report {
        return Step::DisownReport;
    }
    if set.is_orphaning() {
        return collector(
            world,
            "the garbage collector has not removed the references to the old StatefulSet".to_owned(),
        );
    }
    if journal.is_of(set) {
        return Step::LetGo(set.unmarked());
    }
    if let Some(finalizer) = set.foreign_finalizer() {
        // A foreground deletion replaces the finalizer of ours; deleting again brings it back.
        if finalizer == "foregroundDeletion" {
            return delete_again(set);
        }
        return collector(world, format!("the StatefulSet has the finalizer {finalizer}"));
    }
    let Some(dependents) = &world.dependents else {
        return Step::Read(Part::Dependents);
    };
    if dependents.refer_to(set.uid()) {
        return delete_again(set);
    }
    let settled = world
        .unreferenced_since
        .is_some_and(|since| world.now.saturating_sub(since) >= SETTLING);
    if settled {
        return Step::WriteJournal(Box::new(journal.release(set, orphans(dependents))));
    }
    Step::Wait {
        millis: POLL,
        waits: Waits::Settling,
    }
}

/// Deletes again: the garbage collector makes another pass.
fn delete_again(set: &LiveSet) -> Step {
    Step::Delete {
        uid: set.uid().to_owned(),
        resource_version: None,
    }
}

fn collector(world: &World<'_>, message: String) -> Step {
    waits(world, POLL, Fault::new(Reason::WaitsForGarbageCollector, message))
}

/// Waits for others.
pub(super) fn waits(world: &World<'_>, millis: Millis, fault: Fault) -> Step {
    let since = world.waits_since.unwrap_or(world.now);
    let is_long = world.now.saturating_sub(since) >= PATIENCE;
    Step::Wait {
        millis: if is_long { millis.max(5_000) } else { millis },
        waits: if is_long {
            Waits::Stalled(fault)
        } else {
            Waits::Others(fault)
        },
    }
}

/// The Pods that the new set is to adopt.
fn orphans(dependents: &Dependents) -> Vec<JournaledPod> {
    let orphan = |pod: &&PodFacts| pod.selected && !pod.terminating && pod.controller.is_none();
    let pods = dependents.pods.iter().filter(orphan);
    pods.map(|pod| JournaledPod {
        name: pod.name.clone(),
        uid: pod.uid.clone(),
    })
    .collect()
}

pub(super) fn version(set: &LiveSet) -> SetVersion {
    SetVersion {
        uid: set.uid().to_owned(),
        resource_version: set.resource_version().to_owned(),
    }
}

pub(super) fn own_report(set: &LiveSet) -> Step {
    Step::OwnReport {
        uid: set.uid().to_owned(),
    }
}

pub(super) fn unmark(set: &LiveSet, when_deleted: Option<String>) -> Step {
    Step::Unmark {
        set: version(set),
        when_deleted,
    }
}

impl Dependents {
    /// True iff any object has an owner with this uid.
    #[must_use]
    pub fn refer_to(&self, uid: &str) -> bool {
        let pods = self.pods.iter().flat_map(|pod| &pod.owners);
        let others = self.others.iter().map(|(_, owner)| owner);
        pods.chain(others).any(|owner| owner == uid)
    }
}

//! The table of the fourth decision: the next step of a replacement.
//!
//! | the set of this name | the journal | what is done |
//! |---|---|---|
//! | the old one, unmarked | any | check, journal, mark, delete; or give back what was the user's |
//! | the old one, marked, being deleted | any | wait for the garbage collector, journal, let go |
//! | the old one, marked, being deleted in foreground | any | a user did that: unmark |
//! | absent | `Releasing` | read the namespace and the version that was deleted, create; give up only if the namespace ends |
//! | the new one, marked | `Releasing` | verify, restore |
//! | another one, unmarked | `Releasing`, `Created` | somebody else created it: compare |
//! | any other, marked | absent | unmark |
//! | any | unreadable, or of a backup | nothing, and that is reported |

use super::adoption;
use super::check::{self, Check};
use super::journal::{Journal, JournaledPod, Millis, Stage};
use super::live::LiveSet;
use super::step::{End, Fault, Part, SetVersion, Step, Waits};
use super::world::{DependentPod, Dependents, LastVersion, ReportOwner, World};
use crate::api::ReplacementReason as Reason;
use crate::templates::names;

/// How long no object must have referred to the old set before it is let go. The caches of the controllers follow
/// within this time; a StatefulSet controller that does not see the old ControllerRevisions would create new ones.
pub const SETTLING: Millis = 2_000;

/// The pause between two reads of a journal that is refused.
const POLL_OF_REFUSED: Millis = 5_000;

/// The next step.
///
/// The function is total and deterministic, and needs nothing but the objects: so a replacement goes on after a crash
/// at any step, and two controllers do not disturb each other.
///
/// # Guarantees
/// The tests are in `table_tests`.
/// * A set is created only after its old object was let go by us, as it was at that moment: no write that was
///   acknowledged is lost (`write_that_was_acknowledged_is_not_lost`). What the API server stores between its check of
///   the resourceVersion and the deletion is in the DELETED event (`write_within_the_deletion_is_not_lost`).
/// * A set that was deleted with its namespace is not created in the next one of that name
///   (`set_is_created_only_in_its_namespace`).
/// * A set that a user deleted before we marked it is not created again. After that, the guard denies a DELETE. Without
///   the guard, the user wins who deletes the set in foreground; any other DELETE leaves no trace that is not also of
///   ours (`set_deleted_by_a_user_is_not_created_again`).
/// * No Pod is deleted or restarted: nothing is let go that an object refers to
///   (`set_is_let_go_only_without_references`), and the new set keeps the Pods with a partition until it has adopted
///   them at the old revision (`new_set_adopts_the_pods_or_stalls`).
/// * What the API server, a webhook or a proxy answers to the create ends no replacement: only a read of the namespace
///   does, which shows that it does not exist, is another one, or is being deleted (`create_that_is_not_done_is_tried_again`).
/// * Every replacement ends (`replacement_ends_from_every_world`), also after a crash at any step
///   (`crash_before_each_step_changes_nothing`).
#[must_use]
pub fn next(world: &World<'_>) -> Step {
    if let Some(why) = &world.unreadable {
        return deny_journal(world, why);
    }
    match (&world.set, &world.journal) {
        (None, None) => Step::End(End::Nothing),
        (None, Some(journal)) if journal.stage == Stage::Releasing => create(world, journal),
        (None, Some(_)) => Step::DeleteJournal,
        (Some(set), Some(journal)) if journal.uid != set.uid() => adoption::next(world, set, journal),
        (Some(set), journal) if set.terminating() => match set.is_marked() {
            true => release(world, set, journal.as_ref()),
            // A user deleted it, and the ClaimRollout is to follow it.
            false if journal.is_some() && world.report == ReportOwner::Nobody => Step::own_report(set),
            false if journal.is_some() => Step::DeleteJournal,
            false => Step::End(End::Nothing),
        },
        (Some(set), journal) => begin(world, set, journal.as_ref()),
    }
}

/// Nothing is written while it is not known what was decided before.
fn deny_journal(world: &World<'_>, why: &str) -> Step {
    let fault = Fault::new(Reason::JournalRefused, why);
    match &world.set {
        Some(set) if set.is_marked() => Step::Wait {
            millis: POLL_OF_REFUSED,
            waits: Waits::Stalled(fault),
        },
        _ => Step::End(End::Refused(fault)),
    }
}

/// We let the set go. Whoever deleted its namespace after that deleted it too.
fn create(world: &World<'_>, journal: &Journal) -> Step {
    let Some(namespace) = &world.namespace else {
        return Step::Read(Part::Namespace);
    };
    if !journal.is_in(namespace) {
        return Step::DeleteJournal;
    }
    match &world.last_version {
        None => Step::Read(Part::LastVersion),
        Some(LastVersion::Seen(last)) if last.is_deleted_in_foreground() => Step::DeleteJournal,
        // The next process must not create the version of before.
        Some(LastVersion::Seen(last)) if !journal.is_last(last) => {
            let journal = journal.release(last, journal.pods.clone(), namespace, secret(world));
            Step::WriteJournal(Box::new(journal))
        }
        Some(_) => Step::Create(journal.recreated()),
    }
}

/// The set is as it always was, or marked.
fn begin(world: &World<'_>, set: &LiveSet, journal: Option<&Journal>) -> Step {
    if let Some(journal) = journal.filter(|journal| journal.owes_managers(set)) {
        return Step::RestoreManagers {
            set: SetVersion::of(set),
            managed_fields: journal.managed_fields(set),
        };
    }
    let end = match check::check(world, set) {
        Check::Unread(part) => return Step::Read(part),
        Check::TooEarly(fault) => return world.waits(fault),
        Check::Refused(fault) => End::Refused(fault),
        Check::NotAsked => End::Nothing,
        Check::Allowed => return prepare(world, set, journal),
    };
    if let Some(step) = adoption::without_journal(world, set).filter(|_| journal.is_none()) {
        return step;
    }
    if set.is_marked() {
        let when_deleted = journal.and_then(|journal| journal.owed_retention(set));
        return unmark(set, when_deleted);
    }
    match (journal, &world.report) {
        (Some(_), _) => Step::DeleteJournal,
        // The ClaimRollout has lost its owner.
        (None, ReportOwner::Nobody) => Step::own_report(set),
        (None, _) => Step::End(end),
    }
}

/// The set may be replaced.
fn prepare(world: &World<'_>, set: &LiveSet, journal: Option<&Journal>) -> Step {
    let Some(prepared) = Journal::prepare(set, journal, world.now) else {
        return Step::End(End::Nothing);
    };
    if !journal.is_some_and(|journal| is_current(journal, &prepared)) {
        return Step::WriteJournal(Box::new(prepared));
    }
    if let ReportOwner::Set(_) = world.report {
        return Step::DisownReport;
    }
    if !set.retains() {
        return Step::Mark(SetVersion::of(set));
    }
    // With an older version in its cache, it could give the PVCs the owner back after the garbage collector's pass.
    if set.observed_generation() < world.retained_at.unwrap_or_else(|| set.generation()) {
        let message = "the StatefulSet controller has not seen that whenDeleted is Retain";
        return world.waits(Fault::new(Reason::StatusOutdated, message));
    }
    Step::Delete {
        uid: set.uid().to_owned(),
        resource_version: Some(set.resource_version().to_owned()),
    }
}

/// True iff the journal needs no change: a mark and a scale do not matter.
fn is_current(journal: &Journal, prepared: &Journal) -> bool {
    (journal.stage, &journal.when_deleted, &journal.templates)
        == (prepared.stage, &prepared.when_deleted, &prepared.templates)
        && check::basis(&journal.old()) == check::basis(&prepared.old())
}

/// The old set is being deleted, and our finalizer keeps it.
fn release(world: &World<'_>, set: &LiveSet, journal: Option<&Journal>) -> Step {
    if set.is_deleted_in_foreground() {
        return let_user_delete(world, set, journal);
    }
    let Some(journal) = journal else {
        // Without a complete change it is a new set that somebody deletes: the replacement had come to its last step.
        let is_old = set.staged().is_some_and(|change| check::is_rolled_out(set, &change));
        let journal = Journal::prepare(set, None, world.now).filter(|_| is_old);
        return journal.map_or_else(
            || let_user_delete(world, set, None),
            |journal| Step::WriteJournal(Box::new(journal)),
        );
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
        // Before the set is absent: a read takes as long as a write.
        return match world.namespace {
            None => Step::Read(Part::Namespace),
            Some(_) => Step::LetGo(set.unmarked()),
        };
    }
    if let Some(finalizer) = set.foreign_finalizer() {
        return collector(world, format!("the StatefulSet has the finalizer {finalizer}"));
    }
    let Some(dependents) = &world.dependents else {
        return Step::Read(Part::Dependents);
    };
    if dependents.refer_to(set.uid()) {
        return delete_again(set);
    }
    let elapsed = world.unreferenced_since.map(|since| world.now.saturating_sub(since));
    let left = SETTLING.saturating_sub(elapsed.unwrap_or(0));
    if left == 0 {
        let Some(namespace) = &world.namespace else {
            return Step::Read(Part::Namespace);
        };
        let journal = journal.release(set, orphans(set, dependents), namespace, secret(world));
        return Step::WriteJournal(Box::new(journal));
    }
    // Not in steps: each would read every Pod of the namespace.
    Step::Wait {
        millis: left,
        waits: Waits::Settling,
    }
}

/// A user deleted the set, and the ClaimRollout is to follow it. The journal goes first: it must not create the set.
fn let_user_delete(world: &World<'_>, set: &LiveSet, journal: Option<&Journal>) -> Step {
    // Whoever takes a replacement back deletes nothing.
    if world.taken_back {
        return Step::End(End::Nothing);
    }
    match (journal, &world.report) {
        (Some(_), _) => Step::DeleteJournal,
        (None, ReportOwner::Nobody) => Step::own_report(set),
        (None, _) => unmark(set, None),
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
    world.waits(Fault::new(Reason::WaitsForGarbageCollector, message))
}

/// The Pods that the new set is to adopt: those without an owner, and those of its replicas that another controller has taken
/// since then, because its selector matches them too.
fn orphans(set: &LiveSet, dependents: &Dependents) -> Vec<JournaledPod> {
    let is_replica = |pod: &DependentPod| {
        let place = names::stem_and_ordinal(&pod.name);
        place.is_some_and(|(stem, ordinal)| stem == set.name() && set.ordinals().contains(&i64::from(ordinal)))
    };
    let is_left = |pod: &&DependentPod| pod.controller.is_none() || is_replica(pod);
    let pods = dependents.pods.iter().filter(|pod| pod.selected && !pod.terminating);
    let pods = pods.filter(is_left);
    pods.map(|pod| JournaledPod {
        name: pod.name.clone(),
        uid: pod.uid.clone(),
    })
    .collect()
}

/// The uid of the Secret of the journal.
fn secret<'w>(world: &'w World<'_>) -> &'w str {
    world.secret.as_deref().unwrap_or_default()
}

fn unmark(set: &LiveSet, when_deleted: Option<String>) -> Step {
    Step::Unmark {
        set: SetVersion::of(set),
        generation: set.generation(),
        finalizers: set.finalizers().map(str::to_owned).collect(),
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

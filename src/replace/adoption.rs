//! The steps after the create: the new set adopts the Pods, and gets back what is the user's.

use serde_json::json;

use super::journal::{Journal, JournaledPod, Stage};
use super::live::{self, HOLD, LiveSet};
use super::managers::{STRATEGY_TYPE, with_managers};
use super::step::{Fault, Part, SetVersion, Step};
use super::world::{DependentPod, DependentRevision, Dependents, ReportOwner, World};
use crate::api::ReplacementReason as Reason;
use crate::claims::Manager;
use crate::templates::{StagedChange, keys};

/// A set of the name exists, and it is not the old one.
pub(super) fn next(world: &World<'_>, set: &LiveSet, journal: &Journal) -> Step {
    // Somebody deletes the new one, and the ClaimRollout is to follow it.
    if set.terminating() && world.report == ReportOwner::Nobody {
        return Step::own_report(set);
    }
    // The old one was not let go by us.
    if journal.stage == Stage::Prepared || set.terminating() {
        return Step::DeleteJournal;
    }
    if !set.is_marked() {
        return foreign(world, set, journal);
    }
    let old = journal.old();
    restage(set, journal)
        .or_else(|| {
            if is_verified(world, set) {
                None
            } else {
                verify(world, set, journal)
            }
        })
        .or_else(|| hold_of_recreate(set, &old))
        .or_else(|| partition(set, &old))
        .or_else(|| managers(world, set, journal))
        .or_else(|| own_report(world, set))
        .unwrap_or(Step::DeleteJournal)
}

/// Somebody else created the set: GitOps, Helm or an operator.
fn foreign(world: &World<'_>, set: &LiveSet, journal: &Journal) -> Step {
    let old = journal.old();
    // Once only: fewer replicas after that, or a DELETE, are what somebody wants.
    if journal.stage == Stage::Releasing {
        // With the partition of ours, somebody scaled it down after that.
        if set.replicas() < old.replicas() && partition(set, &old).is_none() {
            return Step::ScaleUp {
                set: SetVersion::of(set),
                replicas: old.replicas(),
            };
        }
        return Step::WriteJournal(Box::new(journal.created()));
    }
    let step = verify(world, set, journal)
        .or_else(|| partition(set, &old))
        .or_else(|| own_report(world, set));
    step.unwrap_or_else(|| {
        let live = live::read_templates(set.templates());
        if live.is_some_and(|live| journal.has_templates(&live)) {
            return Step::DeleteJournal;
        }
        let message = "somebody else created the StatefulSet with other volumeClaimTemplates while it was replaced; \
                       its Pods and PVCs are as before";
        Step::LeaveForeign(Fault::new(Reason::ForeignSet, message))
    })
}

/// What somebody staged while the old set was deleted names the old set.
fn restage(set: &LiveSet, journal: &Journal) -> Option<Step> {
    let change = StagedChange::read_of_any(set.annotation(keys::STAGED)?).ok()?;
    let is_old = change.uid == journal.uid;
    let uid = set.uid().to_owned();
    let staged = StagedChange { uid, ..change }.write().ok().filter(|_| is_old)?;
    Some(Step::RestoreStaged {
        set: SetVersion::of(set),
        staged,
    })
}

/// True iff this process has already ended the hold of the new set: after that, nothing can be done about its Pods.
fn is_verified(world: &World<'_>, set: &LiveSet) -> bool {
    world.verified.as_deref() == Some(set.uid())
}

/// What is yet to happen until the new set has every Pod at the old revision.
fn verify(world: &World<'_>, set: &LiveSet, journal: &Journal) -> Option<Step> {
    let wait = |reason, message| Some(world.waits(Fault::new(reason, message)));
    if set.update_revision().is_empty() || !set.status_is_current() {
        let message = "the StatefulSet controller has not seen the new StatefulSet".to_owned();
        return wait(Reason::StatusOutdated, message);
    }
    let old = journal.old();
    let Some(dependents) = &world.dependents else {
        return Some(Step::Read(Part::Dependents));
    };
    if set.update_revision() != old.update_revision()
        && !is_of_user(set, journal, &old)
        && let Some(hold) = hold(set, &old)
    {
        return Some(other_revision(world, set, &old, dependents, &hold));
    }
    let pod = journal.pods.iter().find(|pod| is_left(pod, set, dependents))?;
    let message = format!("the new StatefulSet has not adopted Pod {}", pod.name);
    wait(Reason::PodNotAdopted, message)
}

/// True iff a user changed the Pod template after the old set was deleted, so that another revision is what they want.
/// What a webhook changes in the create has the manager of the create.
fn is_of_user(set: &LiveSet, journal: &Journal, old: &LiveSet) -> bool {
    let is_changed =
        set.is_marked() && set.pod_template() != old.pod_template() && set.has_pod_template_of_others(Manager::OURS);
    journal.has_new_pod_template || is_changed
}

/// True iff the Pod exists, and the set does not control it.
fn is_left(pod: &JournaledPod, set: &LiveSet, dependents: &Dependents) -> bool {
    let is_it = |other: &&DependentPod| other.uid == pod.uid && !other.terminating;
    let found = dependents.pods.iter().find(is_it);
    found.is_some_and(|found| found.controller.as_ref().is_none_or(|owner| owner.uid != set.uid()))
}

/// What keeps the Pods at the old revision, and how to end it.
fn hold(set: &LiveSet, old: &LiveSet) -> Option<String> {
    if set.has_partition() && set.partition() > 0 {
        return Some(format!("The partition {} keeps the Pods. Set it to 0", set.partition()));
    }
    let keeps = old.recreates_pods() && set.is_on_delete();
    keeps.then(|| "The update strategy OnDelete keeps the Pods. Set it to Recreate".to_owned())
}

/// The new set has another revision: the same template in other bytes, or a template that a webhook changed.
fn other_revision(world: &World<'_>, set: &LiveSet, old: &LiveSet, dependents: &Dependents, hold: &str) -> Step {
    let find = |name: &str| dependents.revisions.iter().find(|revision| revision.name == name);
    let same = |(new, old): &(&DependentRevision, &DependentRevision)| new.digest == old.digest;
    let both = find(set.update_revision()).zip(find(old.update_revision()));
    if let Some((new, _)) = both.filter(same) {
        return Step::DeleteRevision {
            name: new.name.clone(),
            uid: new.uid.clone(),
        };
    }
    let message = format!(
        "the new StatefulSet has revision {}, not {}: something changed its Pod template. {hold} to restart them with \
         the new template",
        set.update_revision(),
        old.update_revision(),
    );
    world.waits(Fault::new(Reason::RevisionChanged, message))
}

/// A new set whose journal does not exist any more: somebody deleted it, or the CREATE came late. Before it was
/// replaced, the set had no partition.
pub(super) fn without_journal(world: &World<'_>, set: &LiveSet) -> Option<Step> {
    if !set.is_marked() || !set.has_partition() || set.partition() != HOLD {
        return None;
    }
    let wait = |reason, message: &str| Some(world.waits(Fault::new(reason, message)));
    if set.update_revision().is_empty() || !set.status_is_current() {
        return wait(
            Reason::StatusOutdated,
            "the StatefulSet controller has not seen the new StatefulSet",
        );
    }
    let Some(dependents) = &world.dependents else {
        return Some(Step::Read(Part::Dependents));
    };
    let mut selected = dependents.pods.iter().filter(|pod| pod.selected && !pod.terminating);
    if selected.any(|pod| pod.controller.is_none() || pod.revision != set.update_revision()) {
        let message = "a Pod has no owner or another revision, and the journal does not exist any more. The partition \
                       keeps the Pods. Set it to 0 to restart them";
        return wait(Reason::RevisionChanged, message);
    }
    Some(Step::RestoreStrategy {
        set: SetVersion::of(set),
        strategy: json!({"rollingUpdate": {"partition": 0}}),
    })
}

/// `Recreate`, which waited as `OnDelete`, unless somebody wants `OnDelete` meanwhile.
fn hold_of_recreate(set: &LiveSet, old: &LiveSet) -> Option<Step> {
    let is_wanted = set.has_others(&STRATEGY_TYPE) || set.applied(&STRATEGY_TYPE) != old.applied(&STRATEGY_TYPE);
    (old.recreates_pods() && set.is_on_delete() && !is_wanted).then(|| Step::RestoreStrategy {
        set: SetVersion::of(set),
        strategy: json!({"type": "Recreate"}),
    })
}

/// The partition of the old set. Any other partition than ours is a change of the user.
fn partition(set: &LiveSet, old: &LiveSet) -> Option<Step> {
    let is_ours = set.has_partition() && set.partition() == HOLD && set.partition() != old.partition();
    let had_fields = old.rolling_update().is_some();
    is_ours.then(|| Step::RestoreStrategy {
        set: SetVersion::of(set),
        strategy: if had_fields || set.has_max_unavailable() {
            json!({"rollingUpdate": {"partition": old.partition()}})
        } else {
            // As before: whoever compares the set finds no difference.
            json!({"rollingUpdate": null})
        },
    })
}

/// The managed fields of the old set, once: the API server may keep an entry of ours.
fn managers(world: &World<'_>, set: &LiveSet, journal: &Journal) -> Option<Step> {
    let managed_fields = journal.managed_fields(&journal.old());
    // And of those who have written to the new one.
    let since = set.managed_fields_without(Manager::OURS);
    let managed_fields = with_managers(managed_fields, since.as_array().map_or(&[], Vec::as_slice));
    let has_others = managed_fields.as_array().is_some_and(|entries| !entries.is_empty());
    let is_done = world.managers_restored.as_deref() == Some(set.uid());
    (has_others && !is_done && set.is_owned_by(Manager::OURS)).then(|| Step::RestoreManagers {
        set: SetVersion::of(set),
        managed_fields,
    })
}

/// The ClaimRollout gets the new set as its owner.
fn own_report(world: &World<'_>, set: &LiveSet) -> Option<Step> {
    match &world.report {
        ReportOwner::NoReport => None,
        ReportOwner::Set(uid) if uid == set.uid() => None,
        ReportOwner::Set(_) | ReportOwner::Nobody => Some(Step::own_report(set)),
    }
}

//! The steps after the create: the new set adopts the Pods, and gets back what is the user's.

use super::journal::{Journal, JournaledPod, Stage};
use super::live::LiveSet;
use super::next::{own_report, version, waits};
use super::step::{End, Fault, Step};
use super::world::{Dependents, Millis, Part, PodFacts, ReportOwner, RevisionFacts, World};
use crate::api::ReplacementReason as Reason;
use crate::claims::claim::Manager;
use crate::json;
use crate::templates::{ClaimTemplate, Diff};

/// How often the Pods are read while the new set adopts them.
const POLL: Millis = 200;

/// A set of the name exists, and it is not the old one.
pub(super) fn next(world: &World<'_>, set: &LiveSet, journal: &Journal) -> Step {
    // The old one was not let go by us, or somebody deletes the new one.
    if journal.stage != Stage::Releasing || set.terminating() {
        return Step::DeleteJournal;
    }
    if !set.is_marked() {
        return foreign(world, set, journal);
    }
    let old = journal.old();
    verify(world, set, journal).unwrap_or_else(|| restore(world, set, &old))
}

/// Somebody else created the set: GitOps, Helm or an operator.
fn foreign(world: &World<'_>, set: &LiveSet, journal: &Journal) -> Step {
    let old = journal.old();
    if set.replicas() < old.replicas() {
        return Step::ScaleUp {
            set: version(set),
            replicas: old.replicas(),
        };
    }
    if !has_templates(set, journal) {
        let message = "somebody else created the StatefulSet with other volumeClaimTemplates while it was replaced; its \
                       Pods and PVCs are as before";
        return match world.report {
            ReportOwner::Nobody => own_report(set),
            _ => Step::End(End::Foreign(Fault::new(Reason::ForeignSet, message))),
        };
    }
    verify(world, set, journal).unwrap_or_else(|| match &world.report {
        ReportOwner::Set(uid) if uid == set.uid() => Step::DeleteJournal,
        ReportOwner::NoReport => Step::DeleteJournal,
        _ => own_report(set),
    })
}

/// True iff the set has the templates of the journal.
fn has_templates(set: &LiveSet, journal: &Journal) -> bool {
    let read = |text: String| ClaimTemplate::list_from_value(json::read(&text).unwrap_or_default());
    let live = set.object().pointer("/spec/volumeClaimTemplates");
    let live = read(live.map(ToString::to_string).unwrap_or_default());
    let wanted = read(serde_json::Value::from(journal.templates.clone()).to_string());
    matches!((live, wanted), (Ok(live), Ok(wanted)) if Diff::between(&live, &wanted).is_empty())
}

/// What is yet to happen until the new set has every Pod at the old revision.
fn verify(world: &World<'_>, set: &LiveSet, journal: &Journal) -> Option<Step> {
    let wait = |reason, message| Some(waits(world, POLL, Fault::new(reason, message)));
    if set.update_revision().is_empty() || !set.status_is_current() {
        let message = "the StatefulSet controller has not seen the new StatefulSet".to_owned();
        return wait(Reason::StatusOutdated, message);
    }
    let old = journal.old();
    let Some(dependents) = &world.dependents else {
        return Some(Step::Read(Part::Dependents));
    };
    if set.update_revision() != old.update_revision() && set.has_partition() && set.partition() > 0 {
        return Some(other_revision(world, set, &old, dependents));
    }
    let pod = journal.pods.iter().find(|pod| is_left(pod, set, dependents))?;
    let message = format!("the new StatefulSet has not adopted Pod {}", pod.name);
    wait(Reason::PodNotAdopted, message)
}

/// True iff the Pod exists, and the set does not control it.
fn is_left(pod: &JournaledPod, set: &LiveSet, dependents: &Dependents) -> bool {
    let is_it = |other: &&PodFacts| other.uid == pod.uid && !other.terminating;
    let found = dependents.pods.iter().find(is_it);
    found.is_some_and(|found| found.controller.as_ref().is_none_or(|owner| owner.uid != set.uid()))
}

/// The new set has another revision: the same template in other bytes, or a template that a webhook changed.
fn other_revision(world: &World<'_>, set: &LiveSet, old: &LiveSet, dependents: &Dependents) -> Step {
    let find = |name: &str| dependents.revisions.iter().find(|revision| revision.name == name);
    let same = |(new, old): &(&RevisionFacts, &RevisionFacts)| new.data == old.data;
    let both = find(set.update_revision()).zip(find(old.update_revision()));
    if let Some((new, _)) = both.filter(same) {
        return Step::DeleteRevision {
            name: new.name.clone(),
            uid: new.uid.clone(),
        };
    }
    let message = format!(
        "the new StatefulSet has revision {}, not {}: something changed its Pod template. The partition {} keeps the \
         Pods. Set it to 0 to restart them with the new template",
        set.update_revision(),
        old.update_revision(),
        set.partition()
    );
    waits(world, 5_000, Fault::new(Reason::RevisionChanged, message))
}

/// The new set gets back what is the user's, and loses our mark.
fn restore(world: &World<'_>, set: &LiveSet, old: &LiveSet) -> Step {
    // Any other partition is a change of the user.
    if set.has_partition() && set.partition() == old.replicas() && set.partition() != old.partition() {
        return Step::RestorePartition {
            set: version(set),
            partition: old.partition(),
        };
    }
    let managed_fields = old.managed_fields_without(Manager::OURS);
    if set.is_owned_by(Manager::OURS) && managed_fields.as_array().is_some_and(|entries| !entries.is_empty()) {
        return Step::RestoreManagers {
            set: version(set),
            managed_fields,
        };
    }
    match &world.report {
        ReportOwner::Set(uid) if uid == set.uid() => Step::DeleteJournal,
        ReportOwner::NoReport => Step::DeleteJournal,
        _ => own_report(set),
    }
}

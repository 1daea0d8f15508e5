//! Small objects as those of the API server, and back.

use serde_json::{Value, json};

use super::memory::{ReadParts, SmallSight, SmallStep};
use super::objects::{
    AllDependents, CLAIM, Dependent, HELD, PLACES, POD, REVISION, SmallJournal, SmallSet, SmallStage,
};
use crate::claims::Owner;
use crate::replace::journal::JournaledPod;
use crate::replace::world::{CountQuota, DependentPod, DependentRevision, Dependents, DryRuns, ReportOwner};
use crate::replace::{
    FINALIZER, HOLD, Journal, LastVersion, LiveSet, Millis, Part, SetObjects, SetVersion, Stage, Step, World, basis,
};
use crate::templates::{ClaimTemplate, Phase, Revision, StagedChange, Staging, UpdatePolicy, keys};

/// A time after the set was created.
pub(super) const NOW: Millis = 1_767_229_200_000;

fn template(grown: bool) -> Value {
    json!({"metadata": {"name": "data"}, "spec": {
        "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": if grown { "2Gi" } else { "1Gi" }}},
    }})
}

fn staged(uid: &str) -> String {
    let templates = ClaimTemplate::read_list(&json!([template(true)]).to_string()).unwrap_or_default();
    let change = StagedChange {
        by: "alice".to_owned(),
        manager: "kubectl".to_owned(),
        phase: Phase::Complete,
        replicas: 0,
        staging: Staging::of(uid, "1", &Revision::of(&templates)),
        templates,
        uid: uid.to_owned(),
        update_policy: UpdatePolicy::InPlace,
    };
    change.write().unwrap_or_default()
}

fn uid(prefix: char, number: u8) -> Option<String> {
    (number != 0).then(|| format!("{prefix}{number}"))
}

/// The set as the API server returns it.
pub(super) fn live(set: &SmallSet) -> LiveSet {
    let mut annotations = json!({(keys::REPLACE_SET): "WhenComplete"});
    let uid = uid('u', set.uid);
    if set.staged {
        annotations[keys::STAGED] = staged(uid.as_deref().unwrap_or_default()).into();
    }
    let finalizers = [
        (set.ours, FINALIZER),
        (set.orphan, "orphan"),
        (set.foreground, "foregroundDeletion"),
    ];
    let finalizers: Vec<&str> = finalizers
        .iter()
        .filter(|(has, _)| *has)
        .map(|(_, name)| *name)
        .collect();
    let manager = if set.managed_by_us { "claim-rollout" } else { "kubectl" };
    let mut managers = vec![json!({"manager": manager, "fieldsV1": {"f:spec": {}}})];
    if set.image_of_user {
        managers.push(json!({"manager": "kubectl-set", "fieldsV1": {"f:spec": {"f:template": {}}}}));
    }
    if set.retained_by_user {
        managers.push(json!({"manager": "kubectl-edit", "fieldsV1": {"f:spec":
            {"f:persistentVolumeClaimRetentionPolicy": {"f:whenDeleted": {}}}}}));
    }
    let partition = if set.partition == HELD {
        HOLD
    } else {
        set.partition.into()
    };
    LiveSet::new(json!({
        "metadata": {
            "namespace": "default", "name": "web", "uid": uid, "resourceVersion": set.version.to_string(),
            "generation": set.generation, "creationTimestamp": "2026-01-01T00:00:00Z",
            "deletionTimestamp": set.terminating.then_some("2026-01-01T01:00:00Z"), "finalizers": finalizers,
            "labels": {"n": set.label.to_string()}, "annotations": annotations, "managedFields": managers,
        },
        "spec": {
            "replicas": set.replicas, "selector": {"matchLabels": {"app": "web"}},
            "template": {"image": set.image},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": partition}},
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": if set.deletes_claims { "Delete" } else { "Retain" }},
            "volumeClaimTemplates": [template(set.grown)],
        },
        "status": {
            "observedGeneration": set.observed, "updateRevision": revision_name(set.revision).unwrap_or_default(),
        },
    }))
}

fn revision_name(number: u8) -> Option<String> {
    (number != 0).then(|| format!("web{number}"))
}

fn byte(value: &Value) -> u8 {
    value
        .as_u64()
        .and_then(|number| u8::try_from(number).ok())
        .unwrap_or(HELD)
}

/// The number in a resourceVersion.
fn version_of(text: &str) -> u8 {
    text.parse().unwrap_or(0)
}

/// The number in a uid.
pub(super) fn number_of(uid: &str) -> u8 {
    uid.get(1..).map_or(0, version_of)
}

/// The set that a request contains. The API server sets the rest.
fn small_set(object: &Value) -> SmallSet {
    let set = LiveSet::new(object.clone());
    let has = |name: &str| set.finalizers().any(|finalizer| finalizer == name);
    SmallSet {
        uid: number_of(set.uid()),
        version: version_of(set.resource_version()),
        generation: u8::try_from(set.generation()).unwrap_or(0),
        terminating: set.terminating(),
        ours: set.is_marked(),
        orphan: has("orphan"),
        foreground: has("foregroundDeletion"),
        replicas: byte(&object["spec"]["replicas"]),
        image: byte(&object["spec"]["template"]["image"]),
        image_of_user: set.has_pod_template_of_others("claim-rollout"),
        label: object["metadata"]["labels"]["n"].as_str().map_or(0, version_of),
        partition: u8::try_from(set.partition()).unwrap_or(HELD),
        deletes_claims: set.when_deleted() == Some("Delete"),
        retained_by_user: object["metadata"]["managedFields"]
            .as_array()
            .is_some_and(|entries| entries.iter().any(|entry| entry["manager"] == "kubectl-edit")),
        grown: *set.templates() == json!([template(true)]),
        staged: set.annotation(keys::STAGED).is_some(),
        managed_by_us: set.is_owned_by("claim-rollout"),
        observed: u8::try_from(set.observed_generation()).unwrap_or(0),
        revision: set.update_revision().get(3..).map_or(0, version_of),
    }
}

/// The journal as the controller reads it.
fn journal_of(journal: &SmallJournal) -> Journal {
    let with_change = SmallSet {
        staged: true,
        ..journal.set
    };
    // Its fields follow below.
    let mut read = Journal::prepare(&live(&with_change), None, NOW).unwrap_or_else(|| unreachable!("a staged change"));
    read.stage = match journal.stage {
        SmallStage::Prepared => Stage::Prepared,
        SmallStage::Releasing => Stage::Releasing,
        SmallStage::Created => Stage::Created,
    };
    read.set = live(&journal.set).object().clone();
    read.when_deleted = journal.deletes_claims.then(|| "Delete".to_owned());
    read.templates = vec![template(journal.grown)];
    read.has_new_pod_template = journal.new_image;
    let places = (0..PLACES).filter(|place| journal.pods & 1 << place != 0);
    read.pods = places
        .map(|place| JournaledPod {
            name: format!("web-{place}"),
            uid: pod_uid(place, true),
        })
        .collect();
    read.namespace_uid = uid('n', journal.namespace).unwrap_or_default();
    FIRST_SECRET.clone_into(&mut read.secret_uid);
    read
}

/// The uid of the Secret in which a journal is written, and of one that a backup brings back.
const FIRST_SECRET: &str = "s1";
const RESTORED_SECRET: &str = "s2";

/// The uid of the Secret that has the journal.
const fn secret_of(journal: &SmallJournal) -> &'static str {
    if journal.restored {
        RESTORED_SECRET
    } else {
        FIRST_SECRET
    }
}

/// The journal that a step writes.
fn small_journal(journal: &Journal) -> SmallJournal {
    let places = (0..PLACES).filter(|place| journal.pods.iter().any(|pod| pod.uid == pod_uid(*place, true)));
    SmallJournal {
        version: 0,
        stage: match journal.stage {
            Stage::Prepared => SmallStage::Prepared,
            Stage::Releasing => SmallStage::Releasing,
            Stage::Created => SmallStage::Created,
        },
        set: small_set(&journal.set),
        deletes_claims: journal.when_deleted.is_some(),
        grown: journal.templates == [template(true)],
        new_image: journal.has_new_pod_template,
        pods: places.fold(0, |bits, place| bits | 1 << place),
        namespace: number_of(&journal.namespace_uid),
        restored: false,
    }
}

fn pod_uid(place: usize, is_first: bool) -> String {
    format!("{}-{place}", if is_first { "first" } else { "later" })
}

fn pod_of(place: usize, pod: &Dependent) -> DependentPod {
    let owner = uid('u', pod.owner);
    DependentPod {
        name: format!("web-{place}"),
        uid: pod_uid(place, pod.first),
        controller: owner.clone().map(|uid| Owner {
            api_version: "apps/v1".to_owned(),
            kind: "StatefulSet".to_owned(),
            name: "web".to_owned(),
            uid,
            controller: true,
            block_owner_deletion: true,
        }),
        owners: owner.into_iter().collect(),
        revision: revision_name(pod.revision).unwrap_or_default(),
        selected: true,
        terminating: false,
        ready: true,
    }
}

/// The dependents as a LIST returns them.
fn dependents_of(all: &AllDependents) -> Dependents {
    let existing = |kind: usize| {
        let places = all[kind].iter().enumerate();
        places.filter_map(|(place, one)| one.as_ref().map(|one| (place, one)))
    };
    let others = existing(CLAIM).chain(existing(REVISION));
    let revision = |(place, _): (usize, &Dependent)| DependentRevision {
        name: format!("web{}", place + 1),
        uid: format!("revision-{place}"),
        digest: if place == 1 { "b" } else { "a" }.to_owned(),
    };
    Dependents {
        pods: existing(POD).map(|(place, pod)| pod_of(place, pod)).collect(),
        others: others
            .filter_map(|(place, one)| Some((format!("object {place}"), uid('u', one.owner)?)))
            .collect(),
        unknown: Vec::new(),
        lagging: Vec::new(),
        revisions: existing(REVISION).map(revision).collect(),
    }
}

/// The owner of the ClaimRollout.
pub(super) fn report_of(owner: Option<u8>) -> ReportOwner {
    match owner {
        None => ReportOwner::NoReport,
        Some(0) => ReportOwner::Nobody,
        Some(uid) => ReportOwner::Set(format!("u{uid}")),
    }
}

/// The uid of the Secret of the journal, and its version.
pub(super) fn written_journal(version: u8) -> [Option<String>; 2] {
    [Some(FIRST_SECRET.to_owned()), Some(version.to_string())]
}

/// What a controller reads, as it reads it.
pub(super) fn objects_of(sight: &SmallSight) -> SetObjects {
    let secret = sight.journal.as_ref().map(|journal| secret_of(journal).to_owned());
    let read = sight.journal.as_ref().map(journal_of);
    let is_believed = |journal: &Journal| secret.as_deref().is_some_and(|secret| journal.is_of_secret(secret));
    let unreadable = read.as_ref().filter(|journal| !is_believed(journal));
    SetObjects {
        set: sight.set.as_ref().map(live),
        unreadable: unreadable.map(|_| "a backup brought it back".to_owned()),
        journal: read.filter(is_believed),
        secret,
        journal_version: sight.journal.map(|journal| journal.version.to_string()),
        report: report_of(sight.report),
        report_version: Some(format!("{:?}", sight.report)),
    }
}

impl ReadParts {
    /// Fills in a part, if it was read.
    pub(super) fn show(&self, world: &mut World<'_>, part: Part) -> bool {
        match part {
            Part::Guard => world.checks.guarded = self.guard,
            Part::Dependents => world.dependents = self.dependents.as_ref().map(dependents_of),
            Part::Quotas => world.checks.quotas = self.room.map(quotas),
            Part::Namespace => world.namespace = self.namespace.map(|number| uid('n', number).unwrap_or_default()),
            Part::LastVersion => {
                let version =
                    |last: Option<SmallSet>| last.map_or(LastVersion::Unknown, |last| LastVersion::Seen(live(&last)));
                world.last_version = self.last.map(version);
            }
            Part::DryRuns => world.checks.dry_runs = world.set.as_ref().filter(|_| self.dry_runs).and_then(dry_runs),
        }
        match part {
            Part::Guard => self.guard.is_some(),
            Part::Dependents => self.dependents.is_some(),
            Part::Quotas => self.room.is_some(),
            Part::Namespace => self.namespace.is_some(),
            Part::LastVersion => self.last.is_some(),
            Part::DryRuns => self.dry_runs,
        }
    }
}

fn quotas(has_room: bool) -> Vec<CountQuota> {
    let full = CountQuota {
        name: "sets".to_owned(),
        hard: 1,
        used: 1,
    };
    if has_room { Vec::new() } else { vec![full] }
}

fn dry_runs(set: &LiveSet) -> Option<DryRuns> {
    let created = Journal::prepare(set, None, NOW)?.recreated();
    Some(DryRuns {
        basis: basis(set),
        delete: Ok(()),
        create: Ok(()),
        created: Ok(LiveSet::new(created)),
    })
}

/// The step that a machine has decided, which knows these objects.
pub(super) fn small_step(step: &Step, known: &SetObjects) -> SmallStep {
    let seen = |set: &SetVersion| (number_of(&set.uid), version_of(&set.resource_version));
    let journal = known.journal_version.as_deref().map_or(0, version_of);
    match step {
        Step::WriteJournal(written) => SmallStep::WriteJournal(SmallJournal {
            version: journal,
            ..small_journal(written)
        }),
        Step::DisownReport => SmallStep::DisownReport,
        Step::Mark(set) => SmallStep::Mark(seen(set), true),
        Step::Delete { uid, resource_version } => SmallStep::Delete {
            uid: number_of(uid),
            version: resource_version.as_deref().map(version_of),
        },
        Step::LetGo(object) => SmallStep::LetGo(small_set(object)),
        Step::Create(object) => SmallStep::Create(SmallSet {
            managed_by_us: true,
            image_of_user: false,
            retained_by_user: false,
            ..small_set(object)
        }),
        Step::ScaleUp { set, replicas } => SmallStep::ScaleUp(seen(set), u8::try_from(*replicas).unwrap_or(HELD)),
        Step::DeleteRevision { name, .. } => SmallStep::DeleteRevision(number_of(name.trim_start_matches("we")) - 1),
        Step::RestoreStrategy { set, strategy } => {
            let partition = strategy["rollingUpdate"]["partition"].as_u64().unwrap_or_default();
            SmallStep::RestorePartition(seen(set), u8::try_from(partition).unwrap_or(HELD))
        }
        Step::RestoreManagers { set, .. } => SmallStep::RestoreManagers(seen(set)),
        Step::OwnReport { uid } => SmallStep::OwnReport(number_of(uid)),
        Step::DeleteJournal | Step::LeaveForeign(_) => SmallStep::DeleteJournal(journal),
        Step::Unmark {
            set,
            generation,
            finalizers,
            when_deleted,
        } => {
            let has = |name: &str| finalizers.iter().any(|finalizer| finalizer == name);
            let seen = SmallSet {
                uid: number_of(&set.uid),
                version: version_of(&set.resource_version),
                generation: u8::try_from(*generation).unwrap_or(0),
                ours: has(FINALIZER),
                orphan: has("orphan"),
                foreground: has("foregroundDeletion"),
                ..SmallSet::default()
            };
            SmallStep::Unmark(seen, when_deleted.is_some())
        }
        // No user of the model stages another change while the set is being replaced: the guard denies it.
        Step::RestoreStaged { .. } | Step::Read(_) | Step::Wait { .. } | Step::End(_) => unreachable!("{step:?}"),
    }
}

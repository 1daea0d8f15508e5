//! The objects of one replacement, and an API server for them. `others.rs` adds everybody else.

use serde_json::{Value, json};

use crate::claims::Owner;
use crate::replace::journal::{Journal, Millis};
use crate::replace::live::{FINALIZER, HOLD, LiveSet};
use crate::replace::step::{SetVersion, Step};
use crate::replace::world::{CountQuota, DependentPod, Dependents, ReportOwner};
use crate::rollout::fixtures::{staged_change, template};
use crate::templates::{Phase, keys};

/// An hour after the set was created.
pub(super) const NOW: Millis = 1_767_229_200_000;

/// A ControllerRevision or a PVC.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Object {
    /// Kind and name.
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) owners: Vec<String>,
    /// The Pod template of a ControllerRevision.
    pub(super) data: Option<String>,
}

/// A namespace with the StatefulSet `web`, and the journal.
#[derive(Clone, Debug)]
pub(super) struct Cluster {
    pub(super) now: Millis,
    pub(super) set: Option<LiveSet>,
    /// The journal, and its resourceVersion.
    pub(super) journal: Option<(u64, Journal)>,
    pub(super) report: ReportOwner,
    pub(super) pods: Vec<DependentPod>,
    pub(super) others: Vec<Object>,
    /// Objects of other kinds that the set owns.
    pub(super) unknown: Vec<String>,
    pub(super) guard: bool,
    pub(super) quotas: Vec<CountQuota>,
    /// The answer to the dry run of the DELETE, and of the CREATE.
    pub(super) denies: [Option<&'static str>; 2],
    pub(super) namespace_ends: bool,
    /// The uid of the namespace.
    pub(super) namespace: &'static str,
    /// Changes every new set.
    pub(super) webhook: Option<fn(&mut Value)>,
    /// As `webhook`, but not in a dry run.
    pub(super) late_webhook: Option<fn(&mut Value)>,
    /// The objects whose references the garbage collector misses once.
    pub(super) missed: Vec<&'static str>,
    /// The StatefulSet controller writes the Pod template of a new set in other bytes.
    pub(super) writes_other_bytes: bool,
    /// The Pods that the StatefulSet controller does not adopt.
    pub(super) not_adopted: Vec<&'static str>,
    /// The API server keeps the entry of ours in the managed fields.
    pub(super) keeps_managers: bool,
    /// What somebody writes between the check of the version and the deletion, once.
    pub(super) within: Option<fn(&mut Value)>,
    /// The set as it was when it was deleted.
    pub(super) last: Option<LiveSet>,
    /// The Pods that were deleted or restarted, and why.
    pub(super) lost: Vec<String>,
    pub(super) numbers: u64,
}

/// The answer to a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Done,
    Conflict,
    NotFound,
}

/// The staged change to templates of this size.
pub(super) fn staged(size: &str, phase: Phase, uid: &str) -> String {
    let mut change = staged_change(vec![template("data", size)]);
    (change.phase, change.uid) = (phase, uid.to_owned());
    change.write().expect("a short text")
}

pub(super) fn templates(size: &str) -> Value {
    serde_json::from_str(&format!("[{}]", template("data", size).text())).expect("JSON")
}

/// What a user applies.
pub(super) fn manifest(size: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {
            "namespace": "default", "name": "web", "labels": {"app": "web"},
            "annotations": {"team": "blue", (keys::REPLACE_SET): "WhenComplete"}
        },
        "spec": {
            "replicas": 3, "serviceName": "web", "podManagementPolicy": "OrderedReady",
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "a"}]}
            },
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
            "volumeClaimTemplates": templates(size)
        }
    })
}

pub(super) fn controller(uid: &str) -> Owner {
    Owner {
        api_version: "apps/v1".to_owned(),
        kind: "StatefulSet".to_owned(),
        name: "web".to_owned(),
        uid: uid.to_owned(),
        controller: true,
        block_owner_deletion: true,
    }
}

/// A StatefulSet of three with a complete change from 1Gi to 2Gi. Every precondition is met.
pub(super) fn web() -> Cluster {
    let mut cluster = Cluster {
        now: NOW,
        set: None,
        journal: None,
        report: ReportOwner::Set("uid-1".to_owned()),
        pods: Vec::new(),
        others: Vec::new(),
        unknown: Vec::new(),
        guard: true,
        quotas: Vec::new(),
        denies: [None; 2],
        namespace_ends: false,
        namespace: "ns-1",
        webhook: None,
        late_webhook: None,
        missed: Vec::new(),
        writes_other_bytes: false,
        not_adopted: Vec::new(),
        keeps_managers: false,
        within: None,
        last: None,
        lost: Vec::new(),
        numbers: 0,
    };
    let mut object = manifest("1Gi");
    object["metadata"]["annotations"][keys::STAGED] = staged("2Gi", Phase::Complete, "uid-1").into();
    object["metadata"]["annotations"][keys::PHASE] = "Complete".into();
    cluster.store(object, "kubectl");
    cluster.change(|object| object["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z".into());
    cluster.control();
    cluster
}

impl Cluster {
    pub(super) fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    pub(super) fn live(&self) -> &LiveSet {
        self.set.as_ref().expect("a set")
    }

    pub(super) fn uid(&self) -> String {
        self.set.as_ref().map(|set| set.uid().to_owned()).unwrap_or_default()
    }

    pub(super) fn is_marked(&self) -> bool {
        self.set.as_ref().is_some_and(LiveSet::is_marked)
    }

    pub(super) fn dependents(&self) -> Dependents {
        let others = self.others.iter();
        let owned = others.flat_map(|object| object.owners.iter().map(|owner| (object.name.clone(), owner.clone())));
        Dependents {
            pods: self.pods.clone(),
            others: owned.collect(),
            unknown: self.unknown.clone(),
            revisions: self.revisions(),
        }
    }

    /// Stores a new set.
    pub(super) fn store(&mut self, mut object: Value, manager: &str) {
        let number = self.number();
        let created = jiff::Timestamp::from_millisecond(i64::try_from(self.now).expect("a time")).expect("a time");
        let metadata = &mut object["metadata"];
        assert_eq!(metadata["uid"], Value::Null, "{metadata}");
        assert_eq!(metadata["resourceVersion"], Value::Null, "{metadata}");
        metadata["uid"] = format!("uid-{number}").into();
        metadata["resourceVersion"] = number.to_string().into();
        metadata["generation"] = 1.into();
        metadata["creationTimestamp"] = created.to_string().into();
        metadata["managedFields"] = json!([{"manager": manager, "operation": "Update", "fieldsV1": {"f:spec":
            {"f:replicas": {}, "f:persistentVolumeClaimRetentionPolicy": {"f:whenDeleted": {}}}}}]);
        self.set = Some(LiveSet::new(object));
    }

    /// Changes the set, as a write that the API server acknowledges. Returns whether there is one.
    pub(super) fn change(&mut self, change: impl FnOnce(&mut Value)) -> bool {
        let number = self.number();
        let Some(set) = self.set.take() else {
            return false;
        };
        let before = set.object().clone();
        let mut object = before.clone();
        change(&mut object);
        object["metadata"]["resourceVersion"] = number.to_string().into();
        if object["spec"] != before["spec"] {
            let generation = object["metadata"]["generation"].as_i64().unwrap_or_default();
            object["metadata"]["generation"] = (generation + 1).into();
        }
        if object["spec"]["template"] != before["spec"]["template"]
            && let Some(entries) = object["metadata"]["managedFields"].as_array_mut()
        {
            entries.push(json!({"manager": "kubectl-set", "fieldsV1": {"f:spec": {"f:template": {}}}}));
        }
        self.set = Some(LiveSet::new(object)).filter(|set| !set.terminating() || set.finalizers().next().is_some());
        true
    }

    /// The answer to a write of this version.
    fn check(&self, seen: &SetVersion) -> Answer {
        match &self.set {
            None => Answer::NotFound,
            Some(set) if SetVersion::of(set) != *seen => Answer::Conflict,
            Some(_) => Answer::Done,
        }
    }

    fn change_version(&mut self, seen: &SetVersion, change: impl FnOnce(&mut Value)) -> Answer {
        let answer = self.check(seen);
        if answer == Answer::Done {
            self.change(change);
        }
        answer
    }

    fn unmark(&mut self, uid: &str, generation: i64, finalizers: &[String], when_deleted: Option<&str>) -> Answer {
        let Some(live) = &self.set else {
            return Answer::NotFound;
        };
        let found: Vec<&str> = live.finalizers().collect();
        if (live.uid(), live.generation()) != (uid, generation) || found != *finalizers {
            return Answer::Conflict;
        }
        self.change(|object| unmark(object, when_deleted));
        Answer::Done
    }

    /// An update that removes the last finalizer: the API server checks the version, and deletes the object by its uid.
    fn let_go(&mut self, object: &Value) -> Answer {
        let set = SetVersion::of(&LiveSet::new(object.clone()));
        if object["metadata"]["finalizers"] != json!([]) {
            return self.change_version(&set, |live| *live = object.clone());
        }
        let answer = self.check(&set);
        if answer == Answer::Done {
            if let Some(write) = self.within.take() {
                self.change(write);
            }
            self.last = self.set.take();
        }
        answer
    }

    /// A DELETE: `add` is the finalizer of its propagation policy.
    pub(super) fn delete(&mut self, add: Option<&str>) {
        self.change(|object| {
            let finalizers = object["metadata"]["finalizers"].take();
            let mut finalizers = finalizers.as_array().cloned().unwrap_or_default();
            finalizers.retain(|one| one != "orphan" && one != "foregroundDeletion");
            finalizers.extend(add.map(Value::from));
            object["metadata"]["finalizers"] = finalizers.into();
            // `markAsDeleting` in k8s.io/apiserver, pkg/registry/generic/registry/store.go.
            if object["metadata"]["deletionTimestamp"].is_null() {
                let generation = object["metadata"]["generation"].as_i64().unwrap_or_default();
                object["metadata"]["generation"] = (generation + 1).into();
            }
            object["metadata"]["deletionTimestamp"] = "2026-01-01T01:00:00Z".into();
        });
    }

    fn write_journal(&mut self, seen: Option<u64>, journal: Option<&Journal>) -> Answer {
        if self.journal.as_ref().map(|(version, _)| *version) != seen {
            return Answer::Conflict;
        }
        let number = self.number();
        self.journal = journal.map(|journal| (number, journal.clone()));
        Answer::Done
    }

    fn write_report(&mut self, owner: ReportOwner) -> Answer {
        if self.report == ReportOwner::NoReport {
            return Answer::NotFound;
        }
        self.report = owner;
        Answer::Done
    }

    fn create(&mut self, object: &Value) -> Answer {
        if self.namespace_ends {
            return Answer::NotFound;
        }
        if self.set.is_some() {
            return Answer::Conflict;
        }
        let mut object = object.clone();
        for webhook in self.webhook.into_iter().chain(self.late_webhook) {
            webhook(&mut object);
        }
        self.store(object, "claim-rollout");
        Answer::Done
    }

    /// Executes a step. `journal` is the resourceVersion of the journal that it was decided for.
    pub(super) fn execute(&mut self, step: &Step, journal: Option<u64>) -> Answer {
        match step {
            Step::WriteJournal(text) => self.write_journal(journal, Some(text)),
            Step::DeleteJournal | Step::LeaveForeign(_) => self.write_journal(journal, None),
            Step::DisownReport => self.write_report(ReportOwner::Nobody),
            Step::OwnReport { uid } => self.write_report(ReportOwner::Set(uid.clone())),
            Step::Mark(seen) => self.change_version(seen, mark),
            Step::Unmark {
                set,
                generation,
                finalizers,
                when_deleted,
            } => self.unmark(&set.uid, *generation, finalizers, when_deleted.as_deref()),
            Step::Delete { uid, resource_version } => {
                let fits = |version: &String| *version == self.live().resource_version();
                match &self.set {
                    None => Answer::NotFound,
                    Some(set) if set.uid() != uid || !resource_version.as_ref().is_none_or(fits) => Answer::Conflict,
                    Some(_) => {
                        self.delete(Some("orphan"));
                        Answer::Done
                    }
                }
            }
            Step::LetGo(object) => self.let_go(object),
            Step::Create(object) => self.create(object),
            Step::ScaleUp { set, replicas } => self.change_version(set, |object| {
                object["spec"]["replicas"] = (*replicas).into();
                object["spec"]["updateStrategy"]["rollingUpdate"]["partition"] = HOLD.into();
            }),
            Step::DeleteRevision { uid, .. } => {
                self.others.retain(|object| object.uid != *uid);
                Answer::Done
            }
            Step::RestoreStaged { set, staged } => self.change_version(set, |object| {
                object["metadata"]["annotations"][keys::STAGED] = staged.as_str().into();
            }),
            Step::RestoreStrategy { set, strategy } => self.change_version(set, |object| {
                for (key, value) in strategy.as_object().expect("fields") {
                    object["spec"]["updateStrategy"][key] = value.clone();
                }
            }),
            Step::RestoreManagers { set, managed_fields } => {
                let ours = self
                    .keeps_managers
                    .then(|| self.live().object()["metadata"]["managedFields"][0].clone());
                self.change_version(set, |object| {
                    let entries = managed_fields.as_array().cloned().unwrap_or_default();
                    object["metadata"]["managedFields"] = ours.into_iter().chain(entries).collect();
                })
            }
            Step::Read(_) | Step::Wait { .. } | Step::End(_) => unreachable!("{step:?} writes nothing"),
        }
    }
}

fn mark(object: &mut Value) {
    let metadata = &mut object["metadata"];
    let mut finalizers = metadata["finalizers"].as_array().cloned().unwrap_or_default();
    finalizers.retain(|one| one != FINALIZER);
    finalizers.push(FINALIZER.into());
    metadata["finalizers"] = finalizers.into();
    if object["spec"]["persistentVolumeClaimRetentionPolicy"]["whenDeleted"] == "Delete" {
        retain(object, "Retain");
    }
}

/// Changes `whenDeleted`: the API server makes us its only manager.
fn retain(object: &mut Value, when_deleted: &str) {
    object["spec"]["persistentVolumeClaimRetentionPolicy"]["whenDeleted"] = when_deleted.into();
    let entries = object["metadata"]["managedFields"].as_array_mut().expect("a list");
    for entry in &mut *entries {
        if let Some(spec) = entry.pointer_mut("/fieldsV1/f:spec").and_then(Value::as_object_mut) {
            spec.remove("f:persistentVolumeClaimRetentionPolicy");
        }
    }
    entries.retain(|entry| entry["manager"] != "claim-rollout");
    entries.push(
        json!({"manager": "claim-rollout", "operation": "Update", "fieldsV1": {"f:spec":
        {"f:persistentVolumeClaimRetentionPolicy": {"f:whenDeleted": {}}}}}),
    );
}

fn unmark(object: &mut Value, when_deleted: Option<&str>) {
    let finalizers = object["metadata"]["finalizers"].as_array_mut().expect("a list");
    finalizers.retain(|one| one != FINALIZER);
    if let Some(value) = when_deleted {
        retain(object, value);
    }
}

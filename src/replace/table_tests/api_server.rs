//! An API server for the objects of one replacement: it executes the steps.

use serde_json::{Value, json};

use super::cluster::{Answer, Cluster};
use super::words::{name, write};
use crate::replace::journal::Journal;
use crate::replace::live::{FINALIZER, HOLD, LiveSet};
use crate::replace::step::{SetVersion, Step};
use crate::replace::world::ReportOwner;
use crate::templates::keys;

impl Cluster {
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

    fn unmark(
        &mut self,
        seen: &SetVersion,
        generation: i64,
        finalizers: &[String],
        when_deleted: Option<&str>,
    ) -> Answer {
        let Some(live) = &self.set else {
            return Answer::NotFound;
        };
        let found: Vec<&str> = live.finalizers().collect();
        let is_version = when_deleted.is_none() || live.resource_version() == seen.resource_version;
        if (live.uid(), live.generation()) != (&*seen.uid, generation) || found != *finalizers || !is_version {
            return Answer::Invalid;
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
            if let Some(word) = self.within.take() {
                self.change(|set| write(set, word));
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
        self.secrets += u64::from(seen.is_none());
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
        default(&mut object);
        self.store(object, "claim-rollout");
        Answer::Done
    }

    /// Executes a step, or answers it as somebody else does. `journal` is the resourceVersion of the journal that it was
    /// decided for.
    pub(super) fn execute(&mut self, step: &Step, journal: Option<u64>) -> Answer {
        let next = self.answers.iter().position(|(of, ..)| *of == name(step));
        match next.map(|at| self.answers.remove(at)) {
            None => self.do_it(step, journal),
            Some((_, answer, is_done)) => {
                if is_done {
                    self.do_it(step, journal);
                }
                answer
            }
        }
    }

    fn do_it(&mut self, step: &Step, journal: Option<u64>) -> Answer {
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
            } => self.unmark(set, *generation, finalizers, when_deleted.as_deref()),
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
                merge(&mut object["spec"]["updateStrategy"], strategy);
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

/// `SetDefaults_StatefulSet` of Kubernetes 1.37.1, for the update strategy.
pub(super) fn default(object: &mut Value) {
    let strategy = &mut object["spec"]["updateStrategy"];
    if strategy["type"] == "RollingUpdate"
        && let Some(fields) = strategy.get_mut("rollingUpdate").and_then(Value::as_object_mut)
    {
        fields.entry("partition").or_insert_with(|| 0.into());
        fields.entry("maxUnavailable").or_insert_with(|| 1.into());
    }
}

/// A JSON merge patch.
fn merge(object: &mut Value, patch: &Value) {
    let Some(patch) = patch.as_object() else {
        *object = patch.clone();
        return;
    };
    for (key, value) in patch {
        if value.is_null() {
            let fields = object.as_object_mut();
            fields.map(|fields| fields.remove(key));
        } else {
            merge(&mut object[key], value);
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

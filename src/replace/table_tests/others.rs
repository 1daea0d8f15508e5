//! Everybody else in the model: the garbage collector, the StatefulSet controller, users, GitOps tools.

use serde_json::{Value, json};

use super::cluster::{Cluster, Object, controller, manifest};
use crate::replace::live::LiveSet;
use crate::replace::world::{DependentPod, DependentRevision, ReportOwner};

/// The propagation policies, with the finalizer of each.
pub(super) const POLICIES: [(&str, Option<&str>); 3] = [
    ("Background", None),
    ("Foreground", Some("foregroundDeletion")),
    ("Orphan", Some("orphan")),
];

impl Cluster {
    /// The garbage collector and the StatefulSet controller do what they have to do.
    pub(super) fn settle(&mut self) {
        if self.is_stopped {
            return;
        }
        self.collect();
        self.control();
    }

    /// A user deletes the set. Returns whether the API server does it.
    pub(super) fn user_deletes(&mut self, finalizer: Option<&str>) -> bool {
        let is_denied = self.guard && self.is_marked();
        if self.set.is_none() || is_denied {
            return false;
        }
        self.delete(finalizer);
        true
    }

    /// Somebody else creates the set if there is none. Returns whether there was none.
    pub(super) fn foreign_creates(&mut self, size: &str, change: impl FnOnce(&mut Value)) -> bool {
        if self.set.is_some() {
            return false;
        }
        let mut object = manifest(size);
        change(&mut object);
        self.store(object, "argocd-controller");
        true
    }

    /// One pass of the garbage collector.
    pub(super) fn collect(&mut self) {
        let uid = self.uid();
        if self.set.as_ref().is_some_and(LiveSet::is_orphaning) {
            let missed = std::mem::take(&mut self.missed);
            let strip = |name: &str, owners: &mut Vec<String>| {
                let is_missed = missed.contains(&name);
                owners.retain(|owner| is_missed || *owner != uid);
                !is_missed
            };
            for pod in &mut self.pods {
                if strip(&pod.name, &mut pod.owners) {
                    pod.controller.take_if(|owner| owner.uid == uid);
                }
            }
            for object in &mut self.others {
                strip(&object.name, &mut object.owners);
            }
            if self.report == ReportOwner::Set(uid.clone()) && !missed.contains(&"ClaimRollout") {
                self.report = ReportOwner::Nobody;
            }
            self.finalize("orphan");
        }
        if self.set.as_ref().is_some_and(LiveSet::is_deleted_in_foreground) {
            self.drop_dependents(|owner| *owner == uid);
            self.finalize("foregroundDeletion");
        }
        let uid = self.uid();
        self.drop_dependents(|owner| *owner != uid);
    }

    fn finalize(&mut self, finalizer: &str) {
        self.change(|object| {
            let finalizers = object["metadata"]["finalizers"].as_array_mut().expect("a list");
            finalizers.retain(|one| one != finalizer);
        });
    }

    /// Deletes the objects with such an owner.
    fn drop_dependents(&mut self, is_such: impl Fn(&String) -> bool) {
        for pod in self.pods.extract_if(.., |pod| pod.owners.iter().any(&is_such)) {
            self.lost.push(format!("{} collected", pod.name));
        }
        for object in self.others.extract_if(.., |object| object.owners.iter().any(&is_such)) {
            self.lost.push(format!("{} collected", object.name));
        }
        if matches!(&self.report, ReportOwner::Set(uid) if is_such(uid)) {
            self.report = ReportOwner::NoReport;
        }
    }

    pub(super) fn revisions(&self) -> Vec<DependentRevision> {
        let revision = |object: &Object| {
            Some(DependentRevision {
                name: object.name.strip_prefix("ControllerRevision ")?.to_owned(),
                uid: object.uid.clone(),
                digest: object.data.clone()?,
            })
        };
        self.others.iter().filter_map(revision).collect()
    }

    /// The StatefulSet controller reconciles the set.
    pub(super) fn control(&mut self) {
        let Some(set) = self.set.clone().filter(|set| !set.terminating()) else {
            return;
        };
        let uid = set.uid().to_owned();
        let adopts = |pod: &&mut DependentPod| {
            pod.owners.is_empty() && pod.selected && !self.not_adopted.contains(&pod.name.as_str())
        };
        for pod in self.pods.iter_mut().filter(adopts) {
            (pod.owners, pod.controller) = (vec![uid.clone()], Some(controller(&uid)));
        }
        for object in &mut self.others {
            if object.data.is_some() && object.owners.is_empty() {
                object.owners = vec![uid.clone()];
            }
            if object.data.is_none() {
                object.owners.retain(|owner| *owner != uid);
                object.owners.extend(
                    set.when_deleted()
                        .filter(|value| *value == "Delete")
                        .map(|_| uid.clone()),
                );
            }
        }
        let revision = self.update_revision(&set);
        let generation = set.object()["metadata"]["generation"].clone();
        let status = json!({"observedGeneration": generation, "updateRevision": revision});
        if set.object()["status"] != status {
            self.change(|object| object["status"] = status);
        }
        self.scale(&set, &revision);
        self.update(&set, &revision);
    }

    /// The revision with the Pod template of the set; the newest, if there are several.
    fn update_revision(&mut self, set: &LiveSet) -> String {
        let data = set.pod_template().to_string();
        let known = self.others.iter().rfind(|object| object.data.as_ref() == Some(&data));
        let writes_other_bytes = set.uid() != "uid-1" && std::mem::take(&mut self.writes_other_bytes);
        if let Some(known) = known.filter(|_| !writes_other_bytes) {
            return known.name.replace("ControllerRevision ", "");
        }
        let number = self.number();
        let image = set.pod_template()["spec"]["containers"][0]["image"]
            .as_str()
            .unwrap_or_default();
        let bytes = if writes_other_bytes { "-other-bytes" } else { "" };
        let name = format!("web-{image}{bytes}");
        self.others.push(Object {
            name: format!("ControllerRevision {name}"),
            uid: format!("revision-{number}"),
            owners: vec![set.uid().to_owned()],
            data: Some(data),
        });
        name
    }

    fn scale(&mut self, set: &LiveSet, revision: &str) {
        let wanted: Vec<String> = (0..set.replicas()).map(|ordinal| format!("web-{ordinal}")).collect();
        let owned = |pod: &mut DependentPod| pod.owners.contains(&set.uid().to_owned());
        for pod in self
            .pods
            .extract_if(.., |pod| owned(pod) && !wanted.contains(&pod.name))
        {
            self.lost.push(format!("{} scaled down", pod.name));
        }
        for name in wanted {
            if self.pods.iter().all(|pod| pod.name != name) {
                let number = self.number();
                self.pods.push(DependentPod {
                    uid: format!("pod-{number}"),
                    controller: Some(controller(set.uid())),
                    owners: vec![set.uid().to_owned()],
                    revision: revision.to_owned(),
                    selected: true,
                    terminating: false,
                    ready: true,
                    name: name.clone(),
                });
                let claim = format!("PersistentVolumeClaim data-{name}");
                if self.others.iter().all(|object| object.name != claim) {
                    self.others.push(Object {
                        uid: format!("claim-{number}"),
                        name: claim,
                        owners: Vec::new(),
                        data: None,
                    });
                }
            }
        }
    }

    /// Restarts the Pods that the update strategy does not keep.
    fn update(&mut self, set: &LiveSet, revision: &str) {
        let first = if set.has_partition() { set.partition() } else { 0 };
        for ordinal in first..set.replicas().max(first) {
            let name = format!("web-{ordinal}");
            let number = self.number();
            let pod = self
                .pods
                .iter_mut()
                .find(|pod| pod.name == name && pod.revision != revision);
            if let Some(pod) = pod.filter(|pod| !set.is_on_delete() && pod.owners.contains(&set.uid().to_owned())) {
                (pod.uid, pod.revision) = (format!("pod-{number}"), revision.to_owned());
                self.lost.push(format!("{name} restarted"));
            }
        }
    }
}

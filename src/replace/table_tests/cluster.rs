//! The objects of one replacement. `api_server.rs` changes them, and `others.rs` adds everybody else.

use serde_json::{Value, json};

use crate::claims::Owner;
use crate::replace::journal::{Journal, Millis};
use crate::replace::live::LiveSet;
use crate::replace::objects::SetObjects;
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

/// The answer to a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Done,
    Conflict,
    NotFound,
    Denied,
    Invalid,
    Unsure,
}

/// A namespace with the StatefulSet `web`, and the journal.
#[derive(Clone, Debug, Default)]
pub(super) struct Cluster {
    pub(super) now: Millis,
    pub(super) set: Option<LiveSet>,
    /// The journal, and its resourceVersion.
    pub(super) journal: Option<(u64, Journal)>,
    /// The number of Secrets that were created for it.
    pub(super) secrets: u64,
    /// Answers to the next writes of these names, and whether the write is done nevertheless.
    pub(super) answers: Vec<(&'static str, Answer, bool)>,
    /// kube-controller-manager does not run.
    pub(super) is_stopped: bool,
    pub(super) report: ReportOwner,
    pub(super) pods: Vec<DependentPod>,
    pub(super) others: Vec<Object>,
    /// Objects of other kinds that the set owns.
    pub(super) unknown: Vec<String>,
    /// PVCs of replicas that were scaled away.
    pub(super) lagging: Vec<String>,
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
    pub(super) within: Option<&'static str>,
    /// The set as it was when it was deleted.
    pub(super) last: Option<LiveSet>,
    /// The Pods that were deleted or restarted, and why.
    pub(super) lost: Vec<String>,
    pub(super) numbers: u64,
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
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0, "maxUnavailable": 1}},
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
        report: ReportOwner::Set("uid-1".to_owned()),
        guard: true,
        namespace: "ns-1",
        ..Cluster::default()
    };
    let mut object = manifest("1Gi");
    object["metadata"]["annotations"][keys::STAGED] = staged("2Gi", Phase::Complete, "uid-1").into();
    object["metadata"]["annotations"][keys::PHASE] = "Complete".into();
    cluster.store(object, "kubectl");
    cluster.change(|object| object["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z".into());
    cluster.control();
    cluster
}

/// The same with PVCs that depend on the StatefulSet: `whenDeleted` is `Delete`.
pub(super) fn dependent() -> Cluster {
    let mut cluster = web();
    cluster.depend();
    cluster.control();
    cluster
}

impl Cluster {
    pub(super) fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// The uid of the Secret of the journal.
    pub(super) fn secret(&self) -> String {
        format!("secret-{}", self.secrets)
    }

    /// What a process reads before a decision.
    pub(super) fn objects(&self) -> SetObjects {
        let journal = self.journal.as_ref().map(|(_, journal)| journal);
        let is_believed = |journal: &&Journal| journal.is_of_secret(&self.secret());
        SetObjects {
            set: self.set.clone(),
            journal: journal.filter(is_believed).cloned(),
            secret: journal.map(|_| self.secret()),
            journal_version: self.journal.as_ref().map(|(version, _)| version.to_string()),
            unreadable: journal
                .filter(|journal| !is_believed(journal))
                .map(|_| "of a backup".to_owned()),
            report: self.report.clone(),
            report_version: Some(format!("{:?}", self.report)),
        }
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
            lagging: self.lagging.clone(),
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

    /// A user lets the PVCs depend on the StatefulSet.
    pub(super) fn depend(&mut self) {
        self.change(|set| set["spec"]["persistentVolumeClaimRetentionPolicy"]["whenDeleted"] = "Delete".into());
    }
}

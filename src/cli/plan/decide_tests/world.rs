//! A set `web` of three replicas with one template `data` of 1Gi, and the objects that a plan reads.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::super::{Decider, Inputs, PlanTarget, report};
use crate::api::Seconds;
use crate::cli::plan::overlay::set_last_applied;
use crate::cli::plan::report::{ClaimReport, ClaimValues, PlanOutcome, PlanReport};
use crate::cli::plan::request::KUBECTL;
use crate::cli::plan::unreadable::sift;
use crate::cli::recorded::Recorded;
use crate::controller::ClassLimits;
use crate::rollout::fixtures::staged_change;
use crate::templates::{ClaimTemplate, StagedChange};

/// A set `web` of three replicas of 1Gi in a class that expands, and everything around it.
pub(super) struct PlanWorld {
    pub(super) objects: Vec<Value>,
    pub(super) settings: Value,
    pub(super) manager: &'static str,
    /// A kind that may not be read.
    pub(super) unreadable: Option<&'static str>,
    /// The limits of storage classes.
    pub(super) limits: BTreeMap<String, ClassLimits>,
    pub(super) decider: Decider,
}

/// 2026-11-23T12:00:00Z
const NOON: Seconds = 1_795_435_200;

pub(super) fn template(size: &str) -> Value {
    json!({
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": {"requests": {"storage": size}}},
    })
}

/// The manifest of the user.
pub(super) fn manifest(size: &str, image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet",
        "metadata": {"name": "web", "annotations": {"claim-rollout.io/update-policy": "InPlace"}},
        "spec": {
            "replicas": 3, "serviceName": "web", "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": image}]}},
            "volumeClaimTemplates": [template(size)],
        },
    })
}

/// The set as the API server stores it.
pub(super) fn live() -> Value {
    let mut set = manifest("1Gi", "m:1");
    let applied = set.clone();
    set["metadata"]["namespace"] = json!("shop");
    set["metadata"]["uid"] = json!("set-uid");
    set["metadata"]["resourceVersion"] = json!("7");
    set["metadata"]["generation"] = json!(1);
    set["spec"]["updateStrategy"] = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}});
    set["spec"]["podManagementPolicy"] = json!("OrderedReady");
    set["spec"]["volumeClaimTemplates"][0]["spec"]["volumeMode"] = json!("Filesystem");
    set["status"] = json!({"observedGeneration": 1, "updateRevision": "web-1"});
    set_last_applied(&mut set, &applied);
    set
}

pub(super) fn claim(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "shop", "uid": format!("{name}-uid"), "resourceVersion": "5", "labels": {"app": "web"}},
        "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "volumeMode": "Filesystem", "resources": {"requests": {"storage": "1Gi"}}},
        "status": {"phase": "Bound", "capacity": {"storage": "1Gi"}},
    })
}

pub(super) fn pod(ordinal: u32) -> Value {
    let claim = format!("data-web-{ordinal}");
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": format!("web-{ordinal}"), "namespace": "shop", "labels": {"controller-revision-hash": "web-1"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "set-uid", "controller": true}],
        },
        "spec": {"volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": claim}}]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    })
}

pub(super) fn allowed(yes: bool) -> Value {
    json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
        "spec": {"user": "alice", "resourceAttributes": {"namespace": "shop", "verb": "patch", "resource": "persistentvolumeclaims"}},
        "status": {"allowed": yes},
    })
}

fn class() -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"},
        "provisioner": "csi.example.com", "allowVolumeExpansion": true,
    })
}

pub(super) fn quota(hard: &str, used: &str) -> Value {
    let (hard, used) = (json!({"requests.storage": hard}), json!({"requests.storage": used}));
    json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "storage", "namespace": "shop"},
        "spec": {"hard": hard}, "status": {"hard": hard, "used": used},
    })
}

impl PlanWorld {
    pub(super) fn new() -> Self {
        let mut objects = vec![allowed(true), class(), live()];
        for ordinal in 0..3 {
            objects.push(claim(&format!("data-web-{ordinal}")));
            objects.push(pod(ordinal));
        }
        Self {
            objects,
            settings: json!({}),
            manager: KUBECTL,
            unreadable: None,
            limits: BTreeMap::new(),
            decider: Decider::Here("no cluster".to_owned()),
        }
    }

    pub(super) fn object(&mut self, kind: &str, name: &str) -> &mut Value {
        let found = self
            .objects
            .iter_mut()
            .find(|object| object["kind"] == kind && object["metadata"]["name"] == name);
        found.expect("an object of the fixture")
    }

    pub(super) fn set(&mut self) -> &mut Value {
        self.object("StatefulSet", "web")
    }

    /// Stages this size, as the policy does; the controller has not started.
    pub(super) fn stage(&mut self, size: &str) {
        let templates = ClaimTemplate::list_from_value(json!([template(size)])).expect("templates");
        let change = StagedChange {
            manager: KUBECTL.to_owned(),
            ..staged_change(templates)
        };
        let text = change.write().expect("a staged change");
        let applied = manifest(size, "m:1");
        let set = self.set();
        set["metadata"]["annotations"]["claim-rollout.io/staged"] = json!(text);
        set_last_applied(set, &applied);
    }

    pub(super) fn plan(&self, manifest: Option<&Value>) -> anyhow::Result<PlanReport> {
        let list = json!({"kind": "List", "items": self.objects});
        let settings = RawValue::from_string(self.settings.to_string()).expect("JSON");
        let mut state = Recorded::read(&list).expect("a list");
        sift(&mut state);
        if let Some(kind) = self.unreadable {
            state.cannot_read(kind, "forbidden".to_owned());
        }
        let target = PlanTarget {
            namespace: "shop".to_owned(),
            name: "web".to_owned(),
            manifest: manifest.map(|manifest| ("web.yaml".to_owned(), manifest.clone())),
        };
        report(&Inputs {
            target: &target,
            decider: &self.decider,
            state: &state,
            manager: self.manager,
            settings: &settings,
            limits: &self.limits,
            now: NOON,
        })
    }

    /// The plan of an apply of this size and image.
    pub(super) fn apply(&self, size: &str, image: &str) -> PlanReport {
        self.plan(Some(&manifest(size, image))).expect("a plan")
    }
}

/// One line for each claim: step, name, sizes, action, whether the Pod is replaced, obstacles.
pub(super) fn lines(report: &PlanReport) -> Vec<String> {
    let line = |claim: &ClaimReport| {
        let step = claim.step.map_or("-".to_owned(), |step| step.to_string());
        let size = |state: &Option<ClaimValues>| state.as_ref().map_or("-".to_owned(), |state| state.storage.clone());
        let pod = if claim.pod_replaced { " pod" } else { "" };
        let obstacles: String = claim.obstacles.iter().map(|obstacle| format!(" !{obstacle}")).collect();
        format!(
            "{step} {} {}>{} {:?}{pod}{obstacles}",
            claim.row.name,
            size(&claim.now),
            size(&claim.then),
            claim.action
        )
    };
    report.claims.iter().map(line).collect()
}

pub(super) fn outcome(report: &PlanReport) -> PlanOutcome {
    report.verdict.as_ref().expect("a verdict").outcome
}

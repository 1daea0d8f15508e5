//! The cluster that answers the lookups of the policy. Only this file knows the lookups of the native code.

use claim_rollout::admission::{CanI, CannotAsk, Get, Lookups};
use serde_json::{Value, json};

use super::choices::Choices;
use super::set::{TEMPLATES, put, retention};
use super::values::{KEYS, NAMESPACE, SET, STATEFUL_SET_CONTROLLER, TEXTS, UID, size, trouble};

/// The answers of one cluster: the same answer to the same lookup, always.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cluster {
    /// For each of [`RIGHTS`].
    may: [May; 5],
    /// Objects by kind and name; all others do not exist.
    objects: Vec<(String, String, Value)>,
    /// No lookup works, as for a policy without the capability.
    denies_lookups: bool,
}

/// The rights that the policy asks for: verb, resource, subresource.
const RIGHTS: [[&str; 3]; 5] = [
    ["patch", "persistentvolumeclaims", ""],
    ["delete", "persistentvolumeclaims", ""],
    ["create", "pods", "eviction"],
    ["delete", "statefulsets", ""],
    ["create", "statefulsets", ""],
];

/// The answer to a SubjectAccessReview.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum May {
    #[default]
    Yes,
    No,
    CannotBeAsked,
}

impl Cluster {
    /// A cluster with some of the PVCs of a StatefulSet, their classes and the StatefulSet itself.
    pub(crate) fn around(set: &Value, choices: &mut dyn Choices) -> Self {
        let mut cluster = Self {
            may: RIGHTS.map(|_| *choices.pick(&[May::Yes, May::Yes, May::Yes, May::Yes, May::No, May::CannotBeAsked])),
            objects: Vec::new(),
            denies_lookups: choices.one_in(8),
        };
        let label = staged_label(set);
        for template in TEMPLATES {
            for ordinal in 0..choices.below(3) {
                let name = format!("{template}-{SET}-{ordinal}");
                let mut claim = claim(&name, choices);
                if let Some(label) = label.as_ref().filter(|_| choices.one_in(2)) {
                    put(&mut claim, "/metadata/labels/claim-rollout.io~1revision", json!(label));
                }
                cluster.add("PersistentVolumeClaim", &name, claim);
            }
        }
        for class in ["fast", "slow"] {
            let mut object = json!({"metadata": {"name": class}, "provisioner": "example.com/disk"});
            match choices.below(4) {
                0 => object["allowVolumeExpansion"] = json!(true),
                1 => object["allowVolumeExpansion"] = json!(false),
                2 => {}
                _ => continue,
            }
            cluster.add("StorageClass", class, object);
        }
        for class in ["gold", "silver"] {
            let driver = *choices.pick(&["example.com/disk", "example.com/other"]);
            cluster.add(
                "VolumeAttributesClass",
                class,
                json!({"metadata": {"name": class}, "driverName": driver}),
            );
        }
        if !choices.one_in(4) {
            cluster.add("StatefulSet", SET, set.clone());
        }
        if choices.one_in(16) && !cluster.objects.is_empty() {
            let index = choices.below(cluster.objects.len());
            cluster.objects[index].2 = trouble(choices);
        }
        cluster
    }

    fn add(&mut self, kind: &str, name: &str, object: Value) {
        self.objects.push((kind.to_owned(), name.to_owned(), object));
    }
}

impl Lookups for Cluster {
    fn can_i(&mut self, question: &CanI<'_>) -> Result<bool, CannotAsk> {
        let right = [question.verb, question.resource, question.subresource];
        let place = RIGHTS.iter().position(|known| *known == right);
        match place.map_or(May::CannotBeAsked, |place| self.may[place]) {
            May::Yes => Ok(true),
            May::No => Ok(false),
            May::CannotBeAsked => Err(heard("no SubjectAccessReview is answered here")),
        }
    }

    fn get(&mut self, question: &Get<'_>) -> Result<Option<String>, CannotAsk> {
        if self.denies_lookups {
            return Err(heard("forbidden"));
        }
        let is_here = question.namespace.is_none_or(|namespace| namespace == NAMESPACE);
        let mut objects = self.objects.iter().filter(|_| is_here);
        let found = objects.find(|(kind, name, _)| kind == question.kind && name == question.name);
        Ok(found.map(|(.., object)| object.to_string()))
    }
}

/// The error text as a guest gets it, so that the answers can be compared byte for byte.
fn heard(error: &str) -> CannotAsk {
    CannotAsk(format!("Host error: Callback evaluation failure: {error}"))
}

/// The label of the PVCs that are at the staged change of a StatefulSet.
fn staged_label(set: &Value) -> Option<String> {
    let staged = set["metadata"]["annotations"]["claim-rollout.io/staged"].as_str()?;
    let change: Value = serde_json::from_str(staged).ok()?;
    Some(format!(
        "{}.{}",
        change["revision"].as_str()?,
        change["staging"].as_str()?
    ))
}

/// A PVC as the API server stores it.
pub(crate) fn claim(name: &str, choices: &mut dyn Choices) -> Value {
    let mut claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": NAMESPACE, "uid": "c-1", "labels": {"app": SET}},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size(choices)}}},
        "status": {"phase": "Bound", "capacity": {"storage": size(choices)}},
    });
    match choices.below(16) {
        1 => claim["status"]["phase"] = json!("Pending"),
        2 => claim["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z"),
        3 => claim["metadata"]["ownerReferences"] = json!([{"kind": "Pod", "name": "x", "controller": true}]),
        4 => {
            claim["metadata"]["ownerReferences"] =
                json!([{"kind": "StatefulSet", "name": SET, "uid": UID, "controller": true}]);
        }
        5 => claim["spec"]["accessModes"] = json!(["ReadWriteMany"]),
        6 => claim["spec"]["volumeMode"] = json!("Block"),
        7 => claim["spec"]["volumeAttributesClassName"] = json!("gold"),
        8 => {
            claim["metadata"]["labels"] =
                json!({*choices.pick(&KEYS): "x", "claim-rollout.io/revision": "bbbbbbbbbb.bbbbb"});
        }
        9 => claim["status"] = trouble(choices),
        10 => {
            let statuses = [
                "ControllerResizeInProgress",
                "ControllerResizeInfeasible",
                "NodeResizePending",
                "x",
            ];
            claim["status"]["allocatedResourceStatuses"] = json!({"storage": *choices.pick(&statuses)});
        }
        11 => {
            claim["spec"]["volumeAttributesClassName"] = json!("gold");
            claim["status"]["modifyVolumeStatus"] = json!({"status": *choices.pick(&["Pending", "InProgress", "x"])});
        }
        12 => {
            let conditions = ["Resizing", "FileSystemResizePending", "ControllerResizeError", "x"];
            claim["status"]["conditions"] =
                json!([{"type": *choices.pick(&conditions), "status": "True", "message": *choices.pick(&TEXTS)}]);
        }
        _ => {}
    }
    if !choices.one_in(3) {
        claim["spec"]["storageClassName"] = json!(*choices.pick(&["fast", "slow", ""]));
    }
    claim
}

/// A request about a PVC: mostly its creation, mostly by the StatefulSet controller.
pub(crate) fn claim_request(choices: &mut dyn Choices) -> Value {
    let names = ["data-web-0", "logs-web-1", "data-1-web-0", "data-web-01", "other"];
    let name = *choices.pick(&names);
    let object = claim(name, choices);
    let user = *choices.pick(&[STATEFUL_SET_CONTROLLER, STATEFUL_SET_CONTROLLER, "alice"]);
    let old = if choices.one_in(6) {
        claim(name, choices)
    } else {
        Value::Null
    };
    json!({
        "kind": {"group": "", "version": "v1", "kind": "PersistentVolumeClaim"},
        "operation": if old.is_null() { "CREATE" } else { "UPDATE" },
        "name": name, "namespace": NAMESPACE, "userInfo": {"username": user}, "object": object, "oldObject": old,
    })
}

/// A request to delete a Pod: mostly by the StatefulSet controller.
pub(crate) fn pod_request(choices: &mut dyn Choices) -> Value {
    let ordinal = choices.below(4);
    let volumes = TEMPLATES
        .map(|name| json!({"name": name, "persistentVolumeClaim": {"claimName": format!("{name}-{SET}-{ordinal}")}}));
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": format!("{SET}-{ordinal}"), "namespace": NAMESPACE, "uid": "p-1", "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": SET, "uid": UID, "controller": true}]},
        "spec": {"volumes": volumes},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    });
    match choices.below(20) {
        0 => pod["status"]["phase"] = json!(*choices.pick(&["Failed", "Succeeded", "x"])),
        1 => {
            pod["status"]["conditions"] =
                json!([{"type": "DisruptionTarget", "status": *choices.pick(&["True", "False"])}]);
        }
        2 => pod["metadata"]["deletionTimestamp"] = json!("2026-01-02T03:04:05Z"),
        3 => pod["metadata"]["ownerReferences"][0]["uid"] = json!("before"),
        4 => pod["spec"]["volumes"] = choices.pick(&[Value::Null, json!([]), json!([{"name": "x"}])]).clone(),
        5 => pod["metadata"]["ownerReferences"][0]["kind"] = json!("Job"),
        7 => pod["metadata"]["ownerReferences"] = json!([]),
        6 => {
            let part = *choices.pick(&["metadata", "spec", "status"]);
            pod[part] = trouble(choices);
        }
        _ => {}
    }
    let users = [
        STATEFUL_SET_CONTROLLER,
        STATEFUL_SET_CONTROLLER,
        STATEFUL_SET_CONTROLLER,
        "alice",
    ];
    json!({
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "operation": "DELETE", "name": format!("{SET}-{ordinal}"), "namespace": NAMESPACE,
        "userInfo": {"username": *choices.pick(&users)}, "object": null, "oldObject": pod,
    })
}

/// A request to scale a StatefulSet by its subresource.
pub(crate) fn scale_request(choices: &mut dyn Choices) -> Value {
    let scale = |replicas: usize| {
        json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": SET, "namespace": NAMESPACE, "uid": UID},
            "spec": {"replicas": replicas}, "status": {"replicas": 3, "selector": "app=web"}})
    };
    let mut object = scale(choices.below(4));
    if choices.one_in(16) {
        object["spec"] = trouble(choices);
    }
    json!({
        "kind": {"group": "autoscaling", "version": "v1", "kind": "Scale"},
        "resource": {"group": "apps", "version": "v1", "resource": "statefulsets"},
        "subResource": "scale", "operation": "UPDATE", "name": SET, "namespace": NAMESPACE,
        "userInfo": {"username": "alice"}, "object": object, "oldObject": scale(3),
    })
}

/// The same StatefulSet with a retention policy that deletes.
pub(crate) fn with_retention(set: &Value, choices: &mut dyn Choices) -> Value {
    let mut set = set.clone();
    put(
        &mut set,
        "/spec/persistentVolumeClaimRetentionPolicy",
        retention(choices),
    );
    set
}

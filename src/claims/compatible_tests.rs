use serde_json::{Value, json};

use super::{Classes, Obstacle, compatible, recoverable};
use crate::claims::class::Expansion;
use crate::claims::retention::PodUid;
use crate::claims::{AttributesClass, Belongs, Claim, Known, StorageClass};
use crate::templates::ClaimTemplate;

/// A template that grows, and its PVC; both as JSON, for a row to change.
fn pair() -> Value {
    json!({
        "template": {"metadata": {"name": "data"},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "20Gi"}}}},
        "claim": {"metadata": {"name": "data-web-0", "uid": "c-1", "labels": {"app": "web"}},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}},
                "storageClassName": "fast", "volumeMode": "Filesystem", "volumeName": "pv-1"},
            "status": {"phase": "Bound", "capacity": {"storage": "10Gi"}}},
    })
}

fn class(provisioner: &str, expansion: Expansion) -> Known<StorageClass> {
    let provisioner = provisioner.to_owned();
    Known::Found(StorageClass { provisioner, expansion })
}

fn obstacles(pair: &Value, storage: &Known<StorageClass>, attributes: &Known<AttributesClass>) -> Vec<String> {
    let template = ClaimTemplate::read(&pair["template"].to_string()).expect("a template");
    let claim = Claim::read(&pair["claim"].to_string()).expect("a claim");
    let belongs = Belongs {
        set_uid: "s-1",
        pod: "web-0",
        pod_uid: PodUid::NotAsked,
        match_labels: &[("app", "web")],
    };
    let classes = Classes { storage, attributes };
    let found = compatible(&template, &claim, &belongs, &classes);
    found.iter().map(Obstacle::to_string).collect()
}

fn owner(kind: &str, name: &str, uid: &str, controller: bool) -> Value {
    json!([{"apiVersion": "v1", "kind": kind, "name": name, "uid": uid, "controller": controller}])
}

/// Each row: the case, the path of the change, the new value, and the obstacles.
fn check(rows: &[(&str, &str, Value, &str)]) {
    for (sentence, pointer, value, expected) in rows {
        let mut pair = pair();
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
        pair.pointer_mut(parent).expect(parent)[key] = value.clone();
        let found = obstacles(&pair, &class("csi", Expansion::Allowed), &Known::Unknown);
        assert_eq!(found.join("; "), *expected, "{sentence}");
    }
}

/// Kubernetes reads the class from the annotation first, for quotas and for expansion.
#[test]
fn class_in_the_old_annotation_counts() {
    let annotated = |class: Option<&str>, field: Value| {
        let mut pair = pair();
        pair["claim"]["spec"]["storageClassName"] = field;
        if let Some(class) = class {
            pair["claim"]["metadata"]["annotations"] = json!({"volume.beta.kubernetes.io/storage-class": class});
        }
        pair
    };
    let none = "a PVC without a storage class cannot grow";
    for (class, field, expected, of_class) in [
        (Some("fast"), Value::Null, "", Some("fast")),
        (Some("slow"), "fast".into(), "", Some("slow")),
        (Some(""), "fast".into(), none, None),
        (None, "fast".into(), "", Some("fast")),
        (None, Value::Null, none, None),
    ] {
        let pair = annotated(class, field);
        let found = obstacles(&pair, &class_csi(), &Known::Unknown);
        assert_eq!(found.join("; "), expected, "{pair}");
        let claim = Claim::read(&pair["claim"].to_string()).expect("a claim");
        assert_eq!(claim.storage_class_name(), of_class, "{pair}");
        let mut template = pair["claim"].clone();
        template["metadata"] =
            json!({"name": "data", "annotations": {"volume.beta.kubernetes.io/storage-class": class}});
        if class.is_some() {
            let template = ClaimTemplate::read(&template.to_string()).expect("a template");
            assert_eq!(template.storage_class_name(), class, "{pair}");
        }
    }
}

fn class_csi() -> Known<StorageClass> {
    class("csi", Expansion::Allowed)
}

#[test]
fn claim_foreign_or_terminating_is_not_compatible() {
    let owners = "/claim/metadata/ownerReferences";
    let deleted = "/claim/metadata/deletionTimestamp";
    check(&[
        ("as it is", "/claim/spec/volumeName", "pv-2".into(), ""),
        (
            "it is being deleted",
            deleted,
            "2026-01-01T00:00:00Z".into(),
            "being deleted",
        ),
        ("the set owns it", owners, owner("StatefulSet", "web", "s-1", true), ""),
        ("its Pod owns it", owners, owner("Pod", "web-0", "p-1", true), ""),
        (
            "another Pod owns it",
            owners,
            owner("Pod", "db-0", "p-2", true),
            "owned by Pod db-0",
        ),
        (
            "an object of another kind with the name of the Pod owns it",
            owners,
            owner("Database", "web-0", "d-1", true),
            "owned by Database web-0",
        ),
        (
            "an owner is no controller",
            owners,
            owner("Database", "db", "d-1", false),
            "",
        ),
        (
            "it has another label",
            "/claim/metadata/labels/app",
            "db".into(),
            "label app is not web, as in the selector; set it with kubectl label pvc",
        ),
        ("it has no labels", "/claim/metadata/labels", json!({}), ""),
    ]);
}

#[test]
fn claim_not_bound_is_an_obstacle_only_to_a_change() {
    let waiting = |class_of_template: Value, class_of_claim: Value| {
        let mut pair = pair();
        pair["template"]["spec"]["resources"]["requests"]["storage"] = "10Gi".into();
        pair["template"]["spec"]["volumeAttributesClassName"] = class_of_template;
        pair["claim"]["spec"]["volumeAttributesClassName"] = class_of_claim;
        pair["claim"]["spec"]["volumeName"] = Value::Null;
        pair["claim"]["status"] = json!({"phase": "Pending"});
        obstacles(&pair, &class("csi", Expansion::Allowed), &Known::Unknown)
    };
    assert_eq!(waiting(Value::Null, Value::Null), [""; 0], "nothing changes");
    assert_eq!(
        waiting(Value::Null, "gold".into()),
        [""; 0],
        "the claim keeps its class"
    );
    assert_eq!(waiting("gold".into(), "gold".into()), [""; 0], "it has that class");
    let not_bound = ["not bound to a volume yet, so it has to wait"];
    assert_eq!(waiting("gold".into(), "silver".into()), not_bound);
}

#[test]
fn claim_that_differs_from_its_template_is_not_compatible() {
    let unbound = "not bound to a volume yet, so it has to wait";
    let classless = "a PVC without a storage class cannot grow";
    let source = json!({"kind": "Snapshot", "name": "s"});
    check(&[
        (
            "other access modes",
            "/claim/spec/accessModes",
            json!(["ReadWriteMany"]),
            "spec.accessModes differs from the template's",
        ),
        (
            "a block device",
            "/claim/spec/volumeMode",
            "Block".into(),
            "spec.volumeMode differs from the template's",
        ),
        (
            "another class",
            "/template/spec/storageClassName",
            "slow".into(),
            "spec.storageClassName differs from the template's",
        ),
        (
            "a selector",
            "/template/spec/selector",
            json!({"matchLabels": {"a": "b"}}),
            "spec.selector differs from the template's",
        ),
        (
            "a data source",
            "/template/spec/dataSource",
            source,
            "spec.dataSource differs from the template's",
        ),
        ("no volume", "/claim/status/phase", "Pending".into(), unbound),
        (
            "no storage class",
            "/claim/spec/storageClassName",
            Value::Null,
            classless,
        ),
        (
            "as large already",
            "/claim/spec/resources",
            json!({"requests": {"storage": "20Gi"}}),
            "",
        ),
        (
            "larger",
            "/claim/spec/resources",
            json!({"requests": {"storage": "30Gi"}}),
            "",
        ),
    ]);
}

#[test]
fn class_unknown_is_no_obstacle() {
    let mut modify = pair();
    modify["template"]["spec"]["volumeAttributesClassName"] = "gold".into();
    modify["template"]["spec"]["resources"]["requests"]["storage"] = "10Gi".into();
    let attributes = |driver: &str| {
        Known::Found(AttributesClass {
            driver: driver.to_owned(),
        })
    };
    let csi = class("csi", Expansion::Denied);
    let rows = [
        (pair(), Known::Unknown, Known::Unknown, None),
        (
            pair(),
            Known::Missing,
            Known::Unknown,
            Some("storage class fast does not exist"),
        ),
        (
            pair(),
            csi.clone(),
            Known::Unknown,
            Some("storage class fast does not have allowVolumeExpansion: true"),
        ),
        (modify.clone(), csi.clone(), attributes("csi"), None),
        (
            modify.clone(),
            csi.clone(),
            attributes("nfs"),
            Some("volume attributes class gold is for driver nfs"),
        ),
        (
            modify.clone(),
            csi,
            Known::Missing,
            Some("volume attributes class gold does not exist"),
        ),
        (modify, Known::Unknown, attributes("nfs"), None),
    ];
    for (pair, storage, attributes, expected) in rows {
        let expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
        assert_eq!(
            obstacles(&pair, &storage, &attributes),
            expected,
            "{storage:?} {attributes:?}"
        );
    }
}

#[test]
fn growth_reached_cannot_be_cancelled() {
    for (wanted, request, capacity, reached) in [
        ("20Gi", "99Gi", "10Gi", false),
        ("20Gi", "99Gi", "20Gi", true),
        ("20Gi", "99Gi", "99Gi", true),
        ("20Gi", "20Gi", "40Gi", false),
        ("20Gi", "10Gi", "40Gi", false),
    ] {
        let mut pair = pair();
        pair["template"]["spec"]["resources"]["requests"]["storage"] = wanted.into();
        pair["claim"]["spec"]["resources"]["requests"]["storage"] = request.into();
        pair["claim"]["status"]["capacity"]["storage"] = capacity.into();
        let template = ClaimTemplate::read(&pair["template"].to_string()).expect("a template");
        let claim = Claim::read(&pair["claim"].to_string()).expect("a claim");
        assert_eq!(
            recoverable(&template, &claim).is_some(),
            reached,
            "{wanted} {request} {capacity}"
        );
    }
}

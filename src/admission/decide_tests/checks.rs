//! Checks whether claims can be updated: the lookups, and the warnings or the denial.

use serde_json::{Value, json};

use super::{FakeCluster, decide_with, denial, edits, set, template, update};
use crate::admission::{CannotAsk, Verdict};

fn claim(name: &str, class: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": "shop"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "10Gi"}}, "storageClassName": class},
        "status": {"phase": "Bound", "capacity": {"storage": "10Gi"}}})
}

fn claims(class: &str) -> Vec<Value> {
    (0..3)
        .map(|ordinal| claim(&format!("data-web-{ordinal}"), class))
        .collect()
}

fn storage_class(name: &str, expansion: Option<bool>) -> Value {
    json!({"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
        "provisioner": "csi.example.com", "allowVolumeExpansion": expansion})
}

fn grow(settings: &str, cluster: &mut FakeCluster) -> Verdict {
    let settings = format!(r#"{{"authority":"TrustSetEditors","defaultUpdatePolicy":"InPlace",{settings}}}"#);
    let [old, new] = ["10Gi", "20Gi"].map(|size| set(&[template("data", size)]));
    decide_with(&update(&old, &new), &settings, cluster)
}

fn warnings(verdict: Verdict) -> Vec<String> {
    match verdict {
        Verdict::Stage(_, remarks) => remarks.warnings[1..].to_vec(),
        other => panic!("expected Stage, but found {other:?}"),
    }
}

#[test]
fn claims_are_read_by_name_highest_ordinal_first_class_once() {
    let mut objects = claims("fast");
    objects.push(storage_class("fast", Some(true)));
    let mut cluster = FakeCluster::of(objects);
    assert_eq!(
        warnings(grow(r#""pvcChecks":"Warn""#, &mut cluster)),
        Vec::<String>::new()
    );
    let asked = [
        "PersistentVolumeClaim/data-web-2",
        "StorageClass/fast",
        "PersistentVolumeClaim/data-web-1",
        "PersistentVolumeClaim/data-web-0",
    ];
    assert_eq!(cluster.asked, asked.map(|what| format!("get {what}")));

    let mut cluster = FakeCluster::of(vec![]);
    assert_eq!(
        warnings(grow(r#""pvcChecks":"Off""#, &mut cluster)),
        Vec::<String>::new()
    );
    assert_eq!(cluster.asked, Vec::<String>::new());
}

#[test]
fn causes_are_one_warning_each_or_one_denial() {
    let mut objects = claims("slow");
    objects[0]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    objects.push(storage_class("slow", None));
    let slow = "data-web-2, data-web-1: storage class slow does not have allowVolumeExpansion: true";
    let terminating = "data-web-0: being deleted";
    let warned = warnings(grow(r#""pvcChecks":"Warn""#, &mut FakeCluster::of(objects.clone())));
    assert_eq!(
        warned,
        [
            format!("claim-rollout: {slow}"),
            format!("claim-rollout: {terminating}")
        ]
    );
    let denied = denial(grow(r#""pvcChecks":"Deny""#, &mut FakeCluster::of(objects)));
    assert_eq!(
        denied,
        (
            403,
            format!("claim-rollout: PVCs cannot be updated: {slow}; {terminating}")
        )
    );
}

#[test]
fn missing_claim_is_no_obstacle() {
    assert_eq!(
        warnings(grow(r#""pvcChecks":"Deny""#, &mut FakeCluster::of(vec![]))),
        Vec::<String>::new()
    );
}

#[test]
fn claims_beyond_max_lookups_are_unchecked_and_not_denied() {
    let mut objects = claims("fast");
    objects.push(storage_class("fast", Some(true)));
    let mut cluster = FakeCluster::of(objects);
    let warned = warnings(grow(r#""pvcChecks":"Deny","maxPVCLookups":1"#, &mut cluster));
    assert_eq!(
        warned,
        ["claim-rollout: 2 more PVCs were not checked (setting maxPVCLookups: 1)"]
    );
    assert_eq!(
        cluster.asked,
        ["get PersistentVolumeClaim/data-web-2", "get StorageClass/fast"]
    );
}

#[test]
fn failed_lookup_follows_setting_and_is_not_repeated() {
    let failing = || FakeCluster {
        objects: Err(CannotAsk("not granted".to_owned())),
        ..FakeCluster::of(vec![])
    };
    let mut cluster = failing();
    let warned = warnings(grow(r#""pvcChecks":"Warn""#, &mut cluster));
    assert_eq!(warned, ["claim-rollout: failed to check the PVCs (not granted)"]);
    assert_eq!(cluster.asked.len(), 1);
    let (code, message) = denial(grow(r#""pvcChecks":"Deny""#, &mut failing()));
    assert_eq!(code, 403);
    assert!(
        message.contains("grant the policy get on persistentvolumeclaims"),
        "{message}"
    );
    assert_eq!(edits(grow(r#""pvcChecks":"Off""#, &mut failing())).len(), 3);
}

#[test]
fn checks_of_endless_replicas_stop_at_max_lookups() {
    let huge = |size: &str| {
        let mut set = set(&[template("data", size)]);
        set["spec"]["replicas"] = json!(i64::MAX);
        set
    };
    let settings = r#"{"authority":"TrustSetEditors","defaultUpdatePolicy":"InPlace","maxPVCLookups":1000}"#;
    let verdict = decide_with(
        &update(&huge("10Gi"), &huge("20Gi")),
        settings,
        &mut FakeCluster::of(vec![]),
    );
    assert!(warnings(verdict)[0].starts_with("claim-rollout: 9223372036854774807 more PVCs were not checked"));
}

#[test]
fn claim_larger_than_target_gets_no_warning() {
    let mut larger = claim("data-web-2", "fast");
    larger["spec"]["resources"]["requests"]["storage"] = "30Gi".into();
    larger["status"]["capacity"]["storage"] = "30Gi".into();
    for setting in [r#""pvcChecks":"Warn""#, r#""pvcChecks":"Deny""#] {
        let mut cluster = FakeCluster::of(vec![larger.clone()]);
        assert_eq!(warnings(grow(setting, &mut cluster)), Vec::<String>::new(), "{setting}");
    }
}

#[test]
fn many_causes_fit_in_warnings_and_rest_is_counted() {
    let objects = |count: usize| {
        (0..count)
            .map(|ordinal| claim(&format!("data-web-{ordinal}"), &format!("missing-{ordinal}")))
            .collect()
    };
    let many = |size: &str, replicas: usize| {
        let mut set = set(&[template("data", size)]);
        set["spec"]["replicas"] = json!(replicas);
        set
    };
    let settings = r#"{"authority":"TrustSetEditors","defaultUpdatePolicy":"InPlace","maxPVCLookups":200}"#;
    for replicas in [10, 200] {
        let review = update(&many("10Gi", replicas), &many("20Gi", replicas));
        let verdict = decide_with(&review, settings, &mut FakeCluster::of(objects(replicas)));
        let Verdict::Stage(_, remarks) = verdict else {
            panic!("expected Stage, but found {verdict:?}");
        };
        let lines = remarks.warnings;
        let sum: usize = lines.iter().map(|line| line.chars().count()).sum();
        assert!(sum <= 4096, "{replicas} replicas: {sum} characters");
        assert!(
            lines[0].starts_with("claim-rollout: staged data 10Gi -> 20Gi"),
            "{lines:?}"
        );
        let shown = lines
            .iter()
            .filter(|line| line.contains("storage class missing-"))
            .count();
        let rest = format!("claim-rollout: warnings left out: {}", replicas - shown);
        assert_eq!(shown < replicas, replicas == 200, "{replicas} replicas: {shown} shown");
        assert_eq!(
            lines.last() == Some(&rest),
            shown < replicas,
            "{replicas} replicas: {lines:?}"
        );
    }
}

#[test]
fn change_of_labels_reads_no_class() {
    let mut labelled = template("data", "10Gi");
    labelled["metadata"]["labels"] = json!({"tier": "gold"});
    let mut cluster = FakeCluster::of(claims("fast"));
    let review = update(&set(&[template("data", "10Gi")]), &set(&[labelled]));
    let settings = r#"{"authority":"TrustSetEditors","defaultUpdatePolicy":"InPlace","pvcChecks":"Deny"}"#;
    assert_eq!(edits(decide_with(&review, settings, &mut cluster)).len(), 3);
    let asked = [2, 1, 0].map(|ordinal| format!("get PersistentVolumeClaim/data-web-{ordinal}"));
    assert_eq!(cluster.asked, asked);
}

#[test]
fn attributes_class_is_read_once_from_first_ordinal() {
    let mut gold = template("data", "10Gi");
    gold["spec"]["volumeAttributesClassName"] = "gold".into();
    let [old, new] = [template("data", "10Gi"), gold].map(|template| {
        let mut set = set(&[template]);
        set["spec"]["ordinals"] = json!({"start": 5});
        set
    });
    let mut objects: Vec<Value> = (5..8)
        .map(|ordinal| claim(&format!("data-web-{ordinal}"), "fast"))
        .collect();
    objects.push(storage_class("fast", None));
    let mut cluster = FakeCluster::of(objects);
    let settings = r#"{"authority":"TrustSetEditors","defaultUpdatePolicy":"InPlace","pvcChecks":"Warn"}"#;
    let warned = warnings(decide_with(&update(&old, &new), settings, &mut cluster));
    let missing = "claim-rollout: data-web-7, data-web-6, data-web-5: volume attributes class gold does not exist";
    assert_eq!(warned, [missing]);
    let asked = [
        "PersistentVolumeClaim/data-web-7",
        "StorageClass/fast",
        "VolumeAttributesClass/gold",
        "PersistentVolumeClaim/data-web-6",
        "PersistentVolumeClaim/data-web-5",
    ];
    assert_eq!(cluster.asked, asked.map(|what| format!("get {what}")));
}

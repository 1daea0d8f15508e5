//! Would the claims follow? What is looked up, and what becomes of the answers.

use serde_json::{Value, json};

use super::{Cluster, decide_with, denial, edits, set, template, update};
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

fn grow(settings: &str, cluster: &mut Cluster) -> Verdict {
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
fn claims_are_looked_up_by_name_the_highest_ordinal_first_and_their_class_once() {
    let mut objects = claims("fast");
    objects.push(storage_class("fast", Some(true)));
    let mut cluster = Cluster::of(objects);
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

    let mut cluster = Cluster::of(vec![]);
    assert_eq!(
        warnings(grow(r#""pvcChecks":"Off""#, &mut cluster)),
        Vec::<String>::new()
    );
    assert_eq!(cluster.asked, Vec::<String>::new());
}

#[test]
fn one_warning_for_each_cause_or_one_refusal_for_all() {
    let mut objects = claims("slow");
    objects[0]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    objects.push(storage_class("slow", None));
    let slow = "data-web-2, data-web-1: storage class slow does not have allowVolumeExpansion: true";
    let dying = "data-web-0: being deleted";
    let warned = warnings(grow(r#""pvcChecks":"Warn""#, &mut Cluster::of(objects.clone())));
    assert_eq!(
        warned,
        [format!("claim-rollout: {slow}"), format!("claim-rollout: {dying}")]
    );
    let refused = denial(grow(r#""pvcChecks":"Deny""#, &mut Cluster::of(objects)));
    assert_eq!(
        refused,
        (403, format!("claim-rollout: claims would not follow: {slow}; {dying}"))
    );
}

#[test]
fn a_claim_that_does_not_exist_is_no_obstacle() {
    assert_eq!(
        warnings(grow(r#""pvcChecks":"Deny""#, &mut Cluster::of(vec![]))),
        Vec::<String>::new()
    );
}

#[test]
fn beyond_the_bound_claims_are_named_as_unchecked_and_never_refused() {
    let mut objects = claims("fast");
    objects.push(storage_class("fast", Some(true)));
    let mut cluster = Cluster::of(objects);
    let warned = warnings(grow(r#""pvcChecks":"Deny","maxPVCLookups":1"#, &mut cluster));
    assert_eq!(
        warned,
        ["claim-rollout: 2 more claims were not checked (setting maxPVCLookups: 1)"]
    );
    assert_eq!(
        cluster.asked,
        ["get PersistentVolumeClaim/data-web-2", "get StorageClass/fast"]
    );
}

#[test]
fn where_nobody_answers_the_setting_says_what_follows_and_nobody_is_asked_twice() {
    let silent = || Cluster {
        objects: Err(CannotAsk("not granted".to_owned())),
        ..Cluster::of(vec![])
    };
    let mut cluster = silent();
    let warned = warnings(grow(r#""pvcChecks":"Warn""#, &mut cluster));
    assert_eq!(warned, ["claim-rollout: the claims could not be checked (not granted)"]);
    assert_eq!(cluster.asked.len(), 1);
    let (code, message) = denial(grow(r#""pvcChecks":"Deny""#, &mut silent()));
    assert_eq!(code, 403);
    assert!(
        message.contains("grant the policy get on persistentvolumeclaims"),
        "{message}"
    );
    assert_eq!(edits(grow(r#""pvcChecks":"Off""#, &mut silent())).len(), 3);
}

#[test]
fn replicas_without_end_are_looked_at_no_longer_than_the_bound() {
    let huge = |size: &str| {
        let mut set = set(&[template("data", size)]);
        set["spec"]["replicas"] = json!(i64::MAX);
        set
    };
    let settings = r#"{"authority":"TrustSetEditors","defaultUpdatePolicy":"InPlace","maxPVCLookups":1000}"#;
    let verdict = decide_with(
        &update(&huge("10Gi"), &huge("20Gi")),
        settings,
        &mut Cluster::of(vec![]),
    );
    assert!(warnings(verdict)[0].starts_with("claim-rollout: 9223372036854774807 more claims were not checked"));
}

#[test]
fn a_claim_that_somebody_has_grown_beyond_the_wish_follows_it() {
    let mut larger = claim("data-web-2", "fast");
    larger["spec"]["resources"]["requests"]["storage"] = "30Gi".into();
    larger["status"]["capacity"]["storage"] = "30Gi".into();
    for setting in [r#""pvcChecks":"Warn""#, r#""pvcChecks":"Deny""#] {
        let mut cluster = Cluster::of(vec![larger.clone()]);
        assert_eq!(warnings(grow(setting, &mut cluster)), Vec::<String>::new(), "{setting}");
    }
}

#[test]
fn as_many_causes_as_claims_fill_no_more_than_the_api_server_shows_and_the_rest_is_counted() {
    let objects = |count: usize| {
        (0..count)
            .map(|ordinal| claim(&format!("data-web-{ordinal}"), &format!("gone-{ordinal}")))
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
        let verdict = decide_with(&review, settings, &mut Cluster::of(objects(replicas)));
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
        let told = lines.iter().filter(|line| line.contains("storage class gone-")).count();
        let rest = format!("claim-rollout: warnings that have no room here: {}", replicas - told);
        assert_eq!(told < replicas, replicas == 200, "{replicas} replicas: {told} told");
        assert_eq!(
            lines.last() == Some(&rest),
            told < replicas,
            "{replicas} replicas: {lines:?}"
        );
    }
}

#[test]
fn what_only_new_claims_would_notice_needs_no_class() {
    let mut labelled = template("data", "10Gi");
    labelled["metadata"]["labels"] = json!({"tier": "gold"});
    let mut cluster = Cluster::of(claims("fast"));
    let review = update(&set(&[template("data", "10Gi")]), &set(&[labelled]));
    let settings = r#"{"authority":"TrustSetEditors","defaultUpdatePolicy":"InPlace","pvcChecks":"Deny"}"#;
    assert_eq!(edits(decide_with(&review, settings, &mut cluster)).len(), 3);
    let asked = [2, 1, 0].map(|ordinal| format!("get PersistentVolumeClaim/data-web-{ordinal}"));
    assert_eq!(cluster.asked, asked);
}

#[test]
fn an_attributes_class_is_looked_up_once_and_ordinals_begin_where_the_set_says() {
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
    let mut cluster = Cluster::of(objects);
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

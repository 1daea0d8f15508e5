//! Row R1: claims that a request would delete.

use serde_json::{Value, json};

use super::{FakeCluster, UID, decide_with, denial, review, set, template, update};
use crate::admission::{CannotAsk, Verdict};
use crate::wire::request::decode;

fn policy(mut set: Value, when_deleted: &str, when_scaled: &str) -> Value {
    set["spec"]["persistentVolumeClaimRetentionPolicy"] =
        json!({"whenDeleted": when_deleted, "whenScaled": when_scaled});
    set
}

fn replicas(mut set: Value, replicas: i64) -> Value {
    set["spec"]["replicas"] = replicas.into();
    set
}

fn web(when_deleted: &str, when_scaled: &str) -> Value {
    policy(set(&[template("data", "10Gi")]), when_deleted, when_scaled)
}

fn owner(kind: &str, name: &str, uid: &str) -> Value {
    let api_version = if kind == "Pod" { "v1" } else { "apps/v1" };
    json!({"apiVersion": api_version, "kind": kind, "name": name, "uid": uid, "controller": true, "blockOwnerDeletion": true})
}

fn claims(owner_of: impl Fn(u32) -> Option<Value>) -> Vec<Value> {
    let claim = |ordinal: u32| {
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": format!("data-web-{ordinal}"), "ownerReferences": owner_of(ordinal).map(|one| vec![one])},
            "spec": {"resources": {"requests": {"storage": "10Gi"}}}})
    };
    (0..3).map(claim).collect()
}

fn of_set(_: u32) -> Option<Value> {
    Some(owner("StatefulSet", "web", UID))
}

fn ask(review: &Value, setting: &str, claims: Vec<Value>) -> Verdict {
    let settings = format!(r#"{{"mode":"ValidateOnly","retention":"{setting}"}}"#);
    decide_with(review, &settings, &mut FakeCluster::of(claims))
}

fn warnings(verdict: Verdict) -> Vec<String> {
    match verdict {
        Verdict::Pass(remarks) => remarks.warnings,
        other => panic!("expected Pass, but found {other:?}"),
    }
}

const SCALED: &str =
    "claim-rollout: persistentVolumeClaimRetentionPolicy.whenScaled: Delete deletes data-web-2, data-web-1";

#[test]
fn r1_scale_down_names_deleted_claims() {
    let scale = |when: &str, to| update(&web("Retain", when), &replicas(web("Retain", when), to));
    assert_eq!(warnings(ask(&scale("Delete", 1), "Warn", claims(|_| None))), [SCALED]);
    let denied = "claim-rollout: persistentVolumeClaimRetentionPolicy.whenScaled: Delete deletes data-web-2, data-web-1; \
                  set whenScaled: Retain to keep them, or delete them by name first (setting retention: Deny)";
    assert_eq!(
        denial(ask(&scale("Delete", 1), "Deny", claims(|_| None))),
        (403, denied.to_owned())
    );
    for (sentence, review, setting) in [
        ("the setting is off", scale("Delete", 1), "Off"),
        ("claims are retained", scale("Retain", 1), "Deny"),
        ("nothing is scaled down", scale("Delete", 3), "Deny"),
        ("the set is scaled up", scale("Delete", 5), "Deny"),
    ] {
        assert_eq!(ask(&review, setting, claims(|_| None)), Verdict::PASS, "{sentence}");
    }
    assert_eq!(
        ask(&scale("Delete", 1), "Deny", vec![]),
        Verdict::PASS,
        "there are no claims"
    );
    let foreign = claims(|_| Some(owner("Database", "db", "another")));
    assert_eq!(
        ask(&scale("Delete", 1), "Deny", foreign),
        Verdict::PASS,
        "another controller owns them"
    );
}

#[test]
fn r1_scale_subresource_is_judged_like_the_set() {
    let scale = |replicas: i64| {
        json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web", "namespace": "shop"},
            "spec": {"replicas": replicas}})
    };
    let mut request = review("UPDATE", Some(&scale(3)), Some(&scale(1)));
    request["kind"] = json!({"group": "autoscaling", "version": "v1", "kind": "Scale"});
    request["resource"] = json!({"group": "apps", "version": "v1", "resource": "statefulsets"});
    request["subResource"] = "scale".into();
    let with = |set: Value| {
        let mut objects = claims(|_| None);
        objects.push(set);
        ask(&request, "Warn", objects)
    };
    assert_eq!(warnings(with(web("Retain", "Delete"))), [SCALED]);
    assert_eq!(with(web("Delete", "Retain")), Verdict::PASS);
    let mut by_controller = request.clone();
    by_controller["userInfo"]["username"] = crate::admission::settings::DEFAULT_CONTROLLER_ACCOUNT.into();
    let mut broken = request.clone();
    broken["object"] = Value::Null;
    for (sentence, request, setting) in [
        ("the controller scales", by_controller, "Warn"),
        ("the setting is off: nothing is decoded", broken, "Off"),
    ] {
        let mut objects = claims(|_| None);
        objects.push(web("Retain", "Delete"));
        assert_eq!(ask(&request, setting, objects), Verdict::PASS, "{sentence}");
    }
    let mut failing = FakeCluster {
        objects: Err(CannotAsk("not granted".to_owned())),
        ..FakeCluster::of(vec![])
    };
    let unknown = "claim-rollout: failed to find the PVCs to be deleted (not granted); grant the policy get on statefulsets \
                   and persistentvolumeclaims";
    let warned = decide_with(&request, r#"{"retention":"Warn"}"#, &mut failing);
    assert_eq!(warnings(warned), [unknown]);
    let denied = decide_with(&request, r#"{"retention":"Deny"}"#, &mut failing);
    assert_eq!(denial(denied), (403, unknown.to_owned()));
}

#[test]
fn r1_deletion_of_set_names_claims_unless_orphaned() {
    let delete = |when: &str, options: Value| {
        let mut request = review("DELETE", Some(&web(when, "Retain")), None);
        request["options"] = options;
        request
    };
    let goes = "claim-rollout: persistentVolumeClaimRetentionPolicy.whenDeleted: Delete deletes data-web-2, data-web-1, data-web-0";
    let background = delete("Delete", json!({"propagationPolicy": "Background"}));
    assert_eq!(warnings(ask(&background, "Warn", claims(of_set))), [goes]);
    assert_eq!(denial(ask(&background, "Deny", claims(of_set))).0, 403);
    let mut by_controller = background.clone();
    by_controller["userInfo"]["username"] = crate::admission::settings::DEFAULT_CONTROLLER_ACCOUNT.into();
    let mut owned = background.clone();
    owned["oldObject"]["metadata"]["ownerReferences"] = json!([owner("Database", "db", "d-1")]);
    for (sentence, request) in [
        ("by the controller", by_controller),
        ("owned by another controller", owned),
        ("orphaned", delete("Delete", json!({"propagationPolicy": "Orphan"}))),
        (
            "orphaned with orphanDependents",
            delete("Delete", json!({"orphanDependents": true})),
        ),
        ("retained", delete("Retain", json!({}))),
    ] {
        let found = claims(|_| None);
        assert_eq!(ask(&request, "Deny", found), Verdict::PASS, "{sentence}");
    }
}

#[test]
fn r1_deletion_of_set_names_claims_of_scaled_down_replicas() {
    let request = review("DELETE", Some(&replicas(web("Delete", "Retain"), 1)), None);
    let goes = "claim-rollout: persistentVolumeClaimRetentionPolicy.whenDeleted: Delete deletes data-web-0, data-web-1, data-web-2";
    assert_eq!(warnings(ask(&request, "Warn", claims(of_set))), [goes]);
    let none = replicas(web("Delete", "Retain"), 0);
    let request = review("DELETE", Some(&none), None);
    assert_eq!(
        warnings(ask(&request, "Warn", claims(of_set))),
        [goes],
        "also of a set without replicas"
    );
}

#[test]
fn r1_policy_change_during_scale_down_names_claims() {
    let mut old = replicas(web("Retain", "Retain"), 1);
    old["status"] = json!({"replicas": 3});
    let new = replicas(web("Retain", "Delete"), 1);
    assert_eq!(warnings(ask(&update(&old, &new), "Warn", claims(|_| None))), [SCALED]);
    let other = replicas(web("Retain", "Delete"), 1);
    let mut going = other.clone();
    going["status"] = json!({"replicas": 3});
    let verdict = ask(&update(&going, &other), "Deny", claims(|_| None));
    assert_eq!(verdict, Verdict::PASS, "the policy does not change");
    let of_pod = |ordinal: u32| Some(owner("Pod", &format!("web-{ordinal}"), "p-1"));
    let kept = update(&going, &replicas(web("Retain", "Retain"), 1));
    let may =
        "claim-rollout: persistentVolumeClaimRetentionPolicy.whenScaled: Delete may delete data-web-2, data-web-1";
    assert_eq!(warnings(ask(&kept, "Warn", claims(of_pod))), [may]);
    old["status"]["replicas"] = 1.into();
    assert_eq!(
        ask(&update(&old, &new), "Deny", claims(|_| None)),
        Verdict::PASS,
        "no scale-down in progress"
    );
}

#[test]
fn r1_endless_replicas_stop_at_max_lookups() {
    let old = replicas(web("Retain", "Delete"), i64::MAX);
    let lines = warnings(ask(&update(&old, &replicas(old.clone(), 0)), "Warn", claims(|_| None)));
    assert!(lines[0].contains("more PVCs were not checked"), "{lines:?}");
}

#[test]
fn r1_set_without_templates_has_no_claims() {
    let old = replicas(policy(set(&[]), "Delete", "Delete"), i64::MAX);
    let scale = update(&old, &replicas(old.clone(), 0));
    for request in [scale, review("DELETE", Some(&old), None)] {
        assert_eq!(warnings(ask(&request, "Warn", claims(of_set))), [""; 0], "{request:#}");
    }
}

#[test]
fn r1_max_lookups_bounds_lookups() {
    let asked = |request: &Value, most: u32| {
        let settings = format!(r#"{{"mode":"ValidateOnly","retention":"Warn","maxPVCLookups":{most}}}"#);
        let mut cluster = FakeCluster::of(claims(of_set));
        let lines = warnings(decide_with(request, &settings, &mut cluster));
        (cluster.asked.len(), lines.len())
    };
    let scale = update(&web("Retain", "Delete"), &replicas(web("Retain", "Delete"), 1));
    assert_eq!(asked(&scale, 2), (2, 1), "two claims, and nothing is left unchecked");
    assert_eq!(asked(&scale, 1), (1, 2), "one is unchecked, with a warning");
    // Claims 1 and 2 are of scaled-down replicas; claim 3 does not exist.
    let delete = review("DELETE", Some(&replicas(web("Delete", "Retain"), 1)), None);
    for (most, looked_up) in [(1, 1), (2, 2), (3, 3), (4, 4), (9, 4)] {
        assert_eq!(asked(&delete, most), (looked_up, 1), "at most {most}");
    }
    let none_left = review("DELETE", Some(&replicas(web("Delete", "Delete"), 1)), None);
    assert_eq!(asked(&none_left, 9), (1, 1), "a scale-down keeps no claims");
}

#[test]
fn r1_scale_of_other_kinds_is_not_judged() {
    let scale =
        json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web", "namespace": "shop"}});
    for (group, resource) in [("apps", "deployments"), ("apps.kruise.io", "statefulsets")] {
        let mut request = review("UPDATE", Some(&scale), Some(&scale));
        request["kind"] = json!({"group": "autoscaling", "version": "v1", "kind": "Scale"});
        request["resource"] = json!({"group": group, "version": "v1", "resource": resource});
        request["subResource"] = "scale".into();
        let payload = json!({"request": request}).to_string();
        assert!(matches!(decode(&payload), Ok(None)), "{resource}.{group}");
    }
}

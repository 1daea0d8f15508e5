//! Row R1: claims that a request would delete.

use serde_json::{Value, json};

use super::{Cluster, UID, decide_with, denial, review, set, template, update};
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
    decide_with(review, &settings, &mut Cluster::of(claims))
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
fn r1_a_scale_down_names_the_claims_that_go_with_it() {
    let scale = |when: &str, to| update(&web("Retain", when), &replicas(web("Retain", when), to));
    assert_eq!(warnings(ask(&scale("Delete", 1), "Warn", claims(|_| None))), [SCALED]);
    let refused = "claim-rollout: persistentVolumeClaimRetentionPolicy.whenScaled: Delete deletes data-web-2, data-web-1; to keep \
                   them set whenScaled: Retain first, to delete them delete them by name (setting retention: Deny)";
    assert_eq!(
        denial(ask(&scale("Delete", 1), "Deny", claims(|_| None))),
        (403, refused.to_owned())
    );
    for (sentence, review, setting) in [
        ("the setting is off", scale("Delete", 1), "Off"),
        ("claims are retained", scale("Retain", 1), "Deny"),
        ("nothing is scaled down", scale("Delete", 3), "Deny"),
        ("it is scaled up", scale("Delete", 5), "Deny"),
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
fn r1_the_scale_of_a_set_is_judged_like_the_set() {
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
        ("the setting is off, so nothing is read", broken, "Off"),
    ] {
        let mut objects = claims(|_| None);
        objects.push(web("Retain", "Delete"));
        assert_eq!(ask(&request, setting, objects), Verdict::PASS, "{sentence}");
    }
    let mut silent = Cluster {
        objects: Err(CannotAsk("not granted".to_owned())),
        ..Cluster::of(vec![])
    };
    let unknown = "claim-rollout: cannot say which claims would be deleted (not granted); grant the policy get on statefulsets \
                   and persistentvolumeclaims";
    let warned = decide_with(&request, r#"{"retention":"Warn"}"#, &mut silent);
    assert_eq!(warnings(warned), [unknown]);
    let refused = decide_with(&request, r#"{"retention":"Deny"}"#, &mut silent);
    assert_eq!(denial(refused), (403, unknown.to_owned()));
}

#[test]
fn r1_the_deletion_of_a_set_names_its_claims_unless_they_are_orphaned() {
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
        ("with another controller above it", owned),
        ("orphaned", delete("Delete", json!({"propagationPolicy": "Orphan"}))),
        ("in the old way", delete("Delete", json!({"orphanDependents": true}))),
        ("retained", delete("Retain", json!({}))),
    ] {
        let found = claims(|_| None);
        assert_eq!(ask(&request, "Deny", found), Verdict::PASS, "{sentence}");
    }
}

#[test]
fn r1_claims_that_a_scale_down_left_behind_go_with_the_set() {
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
fn r1_another_policy_while_a_scale_down_is_in_progress_names_what_is_on_its_way() {
    let mut old = replicas(web("Retain", "Retain"), 1);
    old["status"] = json!({"replicas": 3});
    let new = replicas(web("Retain", "Delete"), 1);
    assert_eq!(warnings(ask(&update(&old, &new), "Warn", claims(|_| None))), [SCALED]);
    let other = replicas(web("Retain", "Delete"), 1);
    let mut going = other.clone();
    going["status"] = json!({"replicas": 3});
    let verdict = ask(&update(&going, &other), "Deny", claims(|_| None));
    assert_eq!(verdict, Verdict::PASS, "the policy stays");
    let of_pod = |ordinal: u32| Some(owner("Pod", &format!("web-{ordinal}"), "p-1"));
    let kept = update(&going, &replicas(web("Retain", "Retain"), 1));
    let may =
        "claim-rollout: persistentVolumeClaimRetentionPolicy.whenScaled: Delete may delete data-web-2, data-web-1";
    assert_eq!(warnings(ask(&kept, "Warn", claims(of_pod))), [may]);
    old["status"]["replicas"] = 1.into();
    assert_eq!(
        ask(&update(&old, &new), "Deny", claims(|_| None)),
        Verdict::PASS,
        "none is in progress"
    );
}

#[test]
fn r1_replicas_without_end_are_no_longer_looked_at_than_the_bound() {
    let old = replicas(web("Retain", "Delete"), i64::MAX);
    let lines = warnings(ask(&update(&old, &replicas(old.clone(), 0)), "Warn", claims(|_| None)));
    assert!(lines[0].contains("more claims were not checked"), "{lines:?}");
}

#[test]
fn r1_a_set_without_templates_has_no_claims_however_many_replicas_it_has() {
    let old = replicas(policy(set(&[]), "Delete", "Delete"), i64::MAX);
    let scale = update(&old, &replicas(old.clone(), 0));
    for request in [scale, review("DELETE", Some(&old), None)] {
        assert_eq!(warnings(ask(&request, "Warn", claims(of_set))), [""; 0], "{request:#}");
    }
}

#[test]
fn r1_no_more_claims_are_looked_up_than_the_setting_says() {
    let asked = |request: &Value, most: u32| {
        let settings = format!(r#"{{"mode":"ValidateOnly","retention":"Warn","maxPVCLookups":{most}}}"#);
        let mut cluster = Cluster::of(claims(of_set));
        let lines = warnings(decide_with(request, &settings, &mut cluster));
        (cluster.asked.len(), lines.len())
    };
    let scale = update(&web("Retain", "Delete"), &replicas(web("Retain", "Delete"), 1));
    assert_eq!(asked(&scale, 2), (2, 1), "two claims, and nothing is left unchecked");
    assert_eq!(asked(&scale, 1), (1, 2), "one is, which is said");
    // Claims 1 and 2 were left behind by a scale-down, and there is no claim 3.
    let delete = review("DELETE", Some(&replicas(web("Delete", "Retain"), 1)), None);
    for (most, looked_up) in [(1, 1), (2, 2), (3, 3), (4, 4), (9, 4)] {
        assert_eq!(asked(&delete, most), (looked_up, 1), "at most {most}");
    }
    let none_left = review("DELETE", Some(&replicas(web("Delete", "Delete"), 1)), None);
    assert_eq!(asked(&none_left, 9), (1, 1), "a scale-down leaves none behind");
}

#[test]
fn r1_the_scale_of_anything_else_is_nobodys_business() {
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

//! Row G1: the StatefulSet controller deletes a Pod. The tests of the gate cover its reasons.

use serde_json::{Value, json};

use super::{FakeCluster, UID, annotated, decide_with, set, staged_change, template};
use crate::admission::{CannotAsk, Denial, Verdict};
use crate::templates::{Phase, StagedChange, keys};

const CONTROLLER: &str = "system:serviceaccount:kube-system:statefulset-controller";

/// A staged growth of both claims.
fn staged(phase: Phase) -> String {
    staged_change(&[template("data", "20Gi"), template("log", "2Gi")], phase)
}

fn web(staged: &str) -> Value {
    let web = set(&[template("data", "10Gi"), template("log", "1Gi")]);
    annotated(web, keys::STAGED, staged)
}

fn rolling() -> Value {
    web(&staged(Phase::RollingOut))
}

fn pod() -> Value {
    let claim = |name: &str| json!({"name": name, "persistentVolumeClaim": {"claimName": format!("{name}-web-2")}});
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "web-2", "namespace": "shop", "uid": "p", "ownerReferences": [
            {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": UID, "controller": true}]},
        "spec": {"volumes": [{"name": "tmp", "emptyDir": {}}, claim("data"), claim("log")]},
        "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
    })
}

/// A claim at the target revision, with this capacity.
fn claim(name: &str, size: &str, capacity: &str) -> Value {
    let revision = StagedChange::read(&staged(Phase::RollingOut), UID)
        .expect("valid")
        .revision();
    json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "shop", "uid": "c", "labels": {keys::REVISION: revision.as_str()}},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}},
        "status": {"phase": "Bound", "capacity": {"storage": capacity}}})
}

fn deletion(pod: &Value, user: &str) -> Value {
    json!({
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "operation": "DELETE", "namespace": "shop", "name": pod["metadata"]["name"], "userInfo": {"username": user},
        "oldObject": pod,
    })
}

/// The message of a denial, and the lookups.
fn delete(pod: &Value, objects: Vec<Value>) -> (Option<String>, Vec<String>) {
    let mut cluster = FakeCluster::of(objects);
    match decide_with(&deletion(pod, CONTROLLER), "{}", &mut cluster) {
        Verdict::Pass(remarks) => {
            assert!(remarks.warnings.is_empty() && remarks.audit.is_empty(), "{remarks:?}");
            (None, cluster.asked)
        }
        Verdict::Deny(Denial { code: 403, message }) => (Some(message), cluster.asked),
        other => panic!("expected Pass or Deny with 403, but found {other:?}"),
    }
}

const SET: &str = "get StatefulSet/web";
const DATA: &str = "get PersistentVolumeClaim/data-web-2";
const LOG: &str = "get PersistentVolumeClaim/log-web-2";

#[test]
fn g1_claims_of_pod_are_read_until_one_is_not_ready() {
    // Name, objects, message, lookups.
    type Row<'r> = (&'r str, Vec<Value>, Option<&'r str>, &'r [&'r str]);
    let [data, log] = [claim("data-web-2", "20Gi", "20Gi"), claim("log-web-2", "2Gi", "2Gi")];
    let grows = "claim-rollout: data-web-2 is Applied: capacity 10Gi of 20Gi; Pod web-2 is replaced when it is ready";
    let table: [Row<'_>; 4] = [
        (
            "all are ready",
            vec![rolling(), data.clone(), log.clone()],
            None,
            &[SET, DATA, LOG],
        ),
        ("no claim exists", vec![rolling()], None, &[SET, DATA, LOG]),
        (
            "the first is not ready",
            vec![rolling(), claim("data-web-2", "20Gi", "10Gi"), log.clone()],
            Some(grows),
            &[SET, DATA],
        ),
        (
            "the claim of another Pod is not ready",
            vec![rolling(), data, log, claim("data-web-1", "20Gi", "10Gi")],
            None,
            &[SET, DATA, LOG],
        ),
    ];
    for (row, objects, expected, looked_up) in table {
        let (message, asked) = delete(&pod(), objects);
        assert_eq!(message.as_deref(), expected, "{row}");
        assert_eq!(asked, looked_up, "{row}");
    }
}

#[test]
fn g1_claims_are_not_read_if_set_decides() {
    let behind = claim("data-web-2", "20Gi", "10Gi");
    let unreadable = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "web"}});
    let paused = "claim-rollout: the rollout is paused by the annotation claim-rollout.io/paused; Pod web-2 is replaced after the pause";
    for (row, set, expected) in [
        ("complete", web(&staged(Phase::Complete)), None),
        ("nothing staged", set(&[template("data", "10Gi")]), None),
        ("a forged staged change", web("{}"), None),
        ("Async", annotated(rolling(), keys::SYNC, "Async"), None),
        ("an unreadable set", unreadable, None),
        ("paused", annotated(rolling(), keys::PAUSED, "true"), Some(paused)),
    ] {
        let (message, asked) = delete(&pod(), vec![set, behind.clone()]);
        assert_eq!(message.as_deref(), expected, "{row}");
        assert_eq!(asked, [SET], "{row}");
    }
}

#[test]
fn g1_nothing_is_read_if_pod_decides() {
    type Row = (&'static str, fn(&mut Value));
    let rows: [Row; 6] = [
        ("no claims", |pod| {
            pod["spec"]["volumes"] = json!([{"name": "tmp", "emptyDir": {}}]);
        }),
        ("no volumes", |pod| pod["spec"]["volumes"] = Value::Null),
        ("Failed", |pod| pod["status"]["phase"] = "Failed".into()),
        ("being evicted", |pod| {
            pod["status"]["conditions"][0] = json!({"type": "DisruptionTarget", "status": "True"});
        }),
        ("terminating", |pod| {
            pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        }),
        ("owned by another controller", |pod| {
            pod["metadata"]["ownerReferences"][0]["kind"] = "Job".into();
        }),
    ];
    for (row, change) in rows {
        let mut pod = pod();
        change(&mut pod);
        let objects = vec![rolling(), claim("data-web-2", "20Gi", "10Gi")];
        assert_eq!(delete(&pod, objects), (None, Vec::new()), "{row}");
    }
}

#[test]
fn g1_gate_is_only_for_stateful_set_controller() {
    let objects = vec![rolling(), claim("data-web-2", "20Gi", "10Gi")];
    for (user, settings, denied) in [
        (CONTROLLER, "{}", true),
        ("system:kube-controller-manager", "{}", true),
        ("alice", "{}", false),
        ("system:serviceaccount:kube-system:node-controller", "{}", false),
        (
            "system:serviceaccount:kube-system:generic-garbage-collector",
            "{}",
            false,
        ),
        (CONTROLLER, r#"{"mode":"ValidateOnly"}"#, false),
        (CONTROLLER, r#"{"statefulSetControllerAccounts":["other"]}"#, false),
        ("other", r#"{"statefulSetControllerAccounts":["other"]}"#, true),
    ] {
        let verdict = decide_with(&deletion(&pod(), user), settings, &mut FakeCluster::of(objects.clone()));
        assert_eq!(
            matches!(verdict, Verdict::Deny(_)),
            denied,
            "{user} {settings}: {verdict:?}"
        );
    }
}

#[test]
fn g1_failed_lookup_allows_deletion() {
    let mut cluster = FakeCluster::of(vec![]);
    cluster.objects = Err(CannotAsk("no rights".to_owned()));
    let verdict = decide_with(&deletion(&pod(), CONTROLLER), "{}", &mut cluster);
    assert_eq!((verdict, &cluster.asked[..]), (Verdict::PASS, &[SET.to_owned()][..]));
    let mut unreadable = claim("data-web-2", "20Gi", "10Gi");
    unreadable["spec"]["resources"]["requests"]["storage"] = "much".into();
    assert_eq!(delete(&pod(), vec![rolling(), unreadable]).0, None);
}

#[test]
fn phase_is_written_with_staged_change() {
    let old = set(&[template("data", "10Gi")]);
    let new = set(&[template("data", "20Gi")]);
    for (policy, phase) in [("InPlace", "RollingOut"), ("OnClaimDelete", "Staged")] {
        let [old, new] = [&old, &new].map(|set| annotated(set.clone(), keys::UPDATE_POLICY, policy));
        let found = super::edits(super::decide(&super::update(&old, &new)));
        let written = crate::admission::Edit::annotation(keys::PHASE, phase.to_owned());
        assert!(found.contains(&written), "{policy}: {found:?}");
    }
}

use serde_json::{Value, json};

use super::{Basis, was_reached};
use crate::controller::fixtures;
use crate::controller::objects::set::SlimSet;
use crate::gate::Target;
use crate::rollout::Snapshot;
use crate::rollout::fixtures::{template, web};
use crate::templates::Phase;

/// A change of the set.
type SetEdit = fn(&mut Value);

fn set(edit: SetEdit) -> SlimSet {
    let mut set = json!({
        "metadata": {
            "name": "web", "namespace": "default", "uid": "set-uid", "resourceVersion": "7", "generation": 3,
            "labels": {"team": "a"}, "annotations": {"claim-rollout.io/staged": "{}", "example.com/note": "a"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "Thing", "name": "t", "uid": "t-uid", "controller": true}],
        },
        "spec": {"replicas": 3},
        "status": {"observedGeneration": 3, "updateRevision": "web-1"},
    });
    edit(&mut set);
    serde_json::from_value(set).unwrap()
}

#[test]
fn basis_depends_on_spec_and_report_but_not_on_status() {
    let report = |version: &str| {
        let metadata = json!({"name": "web", "uid": "a", "resourceVersion": version});
        fixtures::rollout(&metadata, &Value::Null)
    };
    let (report, newer) = (report("5"), report("6"));
    let before = Basis::of(&set(|_| {}), Some(&report));
    let rows: [(&str, SetEdit, bool); 11] = [
        ("nothing", |_| {}, true),
        (
            "its version",
            |set| set["metadata"]["resourceVersion"] = json!("8"),
            true,
        ),
        (
            "its status",
            |set| set["status"] = json!({"updateRevision": "web-2"}),
            true,
        ),
        ("a label", |set| set["metadata"]["labels"] = json!({"team": "b"}), true),
        (
            "any other annotation",
            |set| set["metadata"]["annotations"]["example.com/note"] = json!("b"),
            true,
        ),
        (
            "its generation, as by replicas",
            |set| set["metadata"]["generation"] = json!(4),
            false,
        ),
        (
            "our annotation",
            |set| set["metadata"]["annotations"]["claim-rollout.io/staged"] = json!("{ }"),
            false,
        ),
        (
            "another of ours",
            |set| set["metadata"]["annotations"]["claim-rollout.io/paused"] = json!("true"),
            false,
        ),
        ("no owner", |set| set["metadata"]["ownerReferences"] = json!([]), false),
        (
            "another owner",
            |set| set["metadata"]["ownerReferences"][0]["uid"] = json!("u-uid"),
            false,
        ),
        (
            "it is being deleted",
            |set| set["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z"),
            false,
        ),
    ];
    for (what, edit, expected) in rows {
        assert_eq!(Basis::of(&set(edit), Some(&report)) == before, expected, "{what}");
    }
    for (what, report) in [
        ("the report has changed", Some(&newer)),
        ("the report is deleted", None),
    ] {
        assert_ne!(Basis::of(&set(|_| {}), report), before, "{what}");
    }
}

/// A set whose staged change has this phase, and a report of three updated replicas.
fn reported(phase: Phase) -> (Snapshot, Value) {
    let mut snapshot = web();
    let change = snapshot.set.staged.as_mut().unwrap();
    change.phase = phase;
    let revision = change.revision().to_string();
    let ready = json!({"type": "Ready", "status": "True", "reason": "Complete", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let template = json!({"templateName": "data", "finishedReconciliationGeneration": 5});
    snapshot.set.generation = 5;
    let status = json!({"observedGeneration": 2, "updateRevision": revision, "staging": "xz245", "replicas": 3, "conditions": [ready],
        "volumeClaimTemplates": [template]});
    let mut report = fixtures::rollout(&json!({"name": "web", "generation": 2}), &status);
    report.spec.revision = revision;
    report.spec.staging = Some("xz245".to_owned());
    (snapshot, serde_json::to_value(report).unwrap())
}

/// The report, the phase, a change of the report, and whether the target was reached.
fn reports() -> Vec<(&'static str, Phase, &'static str, Value, bool)> {
    use Phase::{Complete, RollingOut};
    vec![
        ("it is reached", Complete, "/spec/setRef/uid", json!("set-uid"), true),
        (
            "it is rolled out",
            RollingOut,
            "/spec/setRef/uid",
            json!("set-uid"),
            false,
        ),
        ("of another set", Complete, "/spec/setRef/uid", json!("other"), false),
        (
            "another target",
            Complete,
            "/status/updateRevision",
            json!("other"),
            false,
        ),
        ("somebody changed it", Complete, "/spec/revision", json!("other"), false),
        ("another staging", Complete, "/status/staging", json!("xz246"), false),
        (
            "another staging is reported next",
            Complete,
            "/spec/staging",
            json!("xz246"),
            false,
        ),
        ("it changed since", Complete, "/metadata/generation", json!(3), false),
        (
            "there were fewer replicas",
            Complete,
            "/status/replicas",
            json!(2),
            false,
        ),
        ("another sync", Complete, "/spec/sync", json!("Async"), false),
        (
            "the set has changed since",
            Complete,
            "/status/volumeClaimTemplates/0/finishedReconciliationGeneration",
            json!(4),
            false,
        ),
        (
            "not by all",
            Complete,
            "/status/conditions/0/status",
            json!("False"),
            false,
        ),
        (
            "idle",
            Complete,
            "/status/conditions/0/reason",
            json!("OnClaimDelete"),
            false,
        ),
        ("never reported", Complete, "/status", Value::Null, false),
    ]
}

#[test]
fn reached_target_is_recognized_by_its_report() {
    for (why, phase, path, value, expected) in reports() {
        let (snapshot, mut report) = reported(phase);
        *report.pointer_mut(path).unwrap() = value;
        let report = serde_json::from_value(report).unwrap();
        let target = Target::of(&snapshot.set, &snapshot.settings).unwrap();
        assert_eq!(was_reached(&snapshot.set, &target, &report), expected, "{why}");
    }
}

#[test]
fn reached_target_that_is_live_is_not_settled() {
    let (mut snapshot, report) = reported(Phase::Complete);
    snapshot.set.live = vec![template("data", "2Gi")];
    let target = Target::of(&snapshot.set, &snapshot.settings).unwrap();
    assert!(!was_reached(
        &snapshot.set,
        &target,
        &serde_json::from_value(report).unwrap()
    ));
}

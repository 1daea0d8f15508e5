use serde_json::{Value, json};

use super::{Basis, was_reached};
use crate::controller::fixtures;
use crate::controller::fixtures::changed;
use crate::controller::objects::set::SlimSet;
use crate::gate::Target;
use crate::rollout::Snapshot;
use crate::rollout::fixtures::{rows, template, web};
use crate::templates::Phase;

/// The set with this JSON at this place.
fn set(place: &str, json: &str) -> SlimSet {
    let set = json!({
        "metadata": {
            "name": "web", "namespace": "default", "uid": "set-uid", "resourceVersion": "7", "generation": 3,
            "labels": {"team": "a"}, "annotations": {"claim-rollout.io/staged": "{}", "example.com/note": "a"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "Thing", "name": "t", "uid": "t-uid", "controller": true}],
        },
        "spec": {"replicas": 3},
        "status": {"observedGeneration": 3, "updateRevision": "web-1"},
    });
    serde_json::from_value(changed(set, place, json)).unwrap()
}

/// What changes, where and to what, and whether the set stays settled.
const BASIS: &str = r#"
    nothing                        | /metadata/name                                     | "web"                        | true
    its version                    | /metadata/resourceVersion                          | "8"                          | true
    its status                     | /status                                            | {"updateRevision": "web-2"}  | true
    a label                        | /metadata/labels                                   | {"team": "b"}                | true
    any other annotation           | /metadata/annotations/example.com~1note            | "b"                          | true
    its generation, as by replicas | /metadata/generation                               | 4                            | false
    our annotation                 | /metadata/annotations/claim-rollout.io~1staged     | "{ }"                        | false
    another of ours                | /metadata/annotations/claim-rollout.io~1paused     | "true"                       | false
    no owner                       | /metadata/ownerReferences                          | []                           | false
    another owner                  | /metadata/ownerReferences/0/uid                    | "u-uid"                      | false
    it is being deleted            | /metadata/deletionTimestamp                        | "2026-01-01T00:00:00Z"       | false
"#;

#[test]
fn basis_depends_on_spec_and_report_but_not_on_status() {
    let report = |version: &str| {
        let metadata = json!({"name": "web", "uid": "a", "resourceVersion": version});
        fixtures::rollout(&metadata, &Value::Null)
    };
    let (report, newer) = (report("5"), report("6"));
    let same = set("/metadata/name", "\"web\"");
    let before = Basis::of(&same, Some(&report));
    for [what, place, json, expected] in rows(BASIS) {
        let basis = Basis::of(&set(place, json), Some(&report));
        assert_eq!((basis == before).to_string(), expected, "{what}");
    }
    for (what, report) in [
        ("the report has changed", Some(&newer)),
        ("the report is deleted", None),
    ] {
        assert_ne!(Basis::of(&same, report), before, "{what}");
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
const REPORTS: &str = r#"
    it is reached                    | Complete   | /spec/setRef/uid           | "set-uid"       | true
    it is rolled out                 | RollingOut | /spec/setRef/uid           | "set-uid"       | false
    of another set                   | Complete   | /spec/setRef/uid           | "other"         | false
    another target                   | Complete   | /status/updateRevision     | "other"         | false
    somebody changed it              | Complete   | /spec/revision             | "other"         | false
    another staging                  | Complete   | /status/staging            | "xz246"         | false
    another staging is reported next | Complete   | /spec/staging              | "xz246"         | false
    it changed since                 | Complete   | /metadata/generation       | 3               | false
    there were fewer replicas        | Complete   | /status/replicas           | 2               | false
    another sync                     | Complete   | /spec/sync                 | "Async"         | false
    the set has changed since        | Complete   | /status/volumeClaimTemplates/0/finishedReconciliationGeneration | 4 | false
    not by all                       | Complete   | /status/conditions/0/status | "False"        | false
    idle                             | Complete   | /status/conditions/0/reason | "OnClaimDelete" | false
    never reported                   | Complete   | /status                    | null            | false
"#;

#[test]
fn reached_target_is_recognized_by_its_report() {
    for [why, phase, place, json, expected] in rows(REPORTS) {
        let (snapshot, report) = reported(phase.parse().unwrap());
        let report = serde_json::from_value(changed(report, place, json)).unwrap();
        let target = Target::of(&snapshot.set, &snapshot.settings).unwrap();
        let was_reached = was_reached(&snapshot.set, &target, &report);
        assert_eq!(was_reached.to_string(), expected, "{why}");
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

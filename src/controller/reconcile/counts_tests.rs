use serde_json::{Value, json};

use super::was_counted;
use crate::controller::fixtures;
use crate::gate::{Idle, SetView};
use crate::rollout::fixtures::web;
use crate::templates::{Revision, UpdatePolicy};

/// A set with `OnClaimDelete` or with a withdrawn change, and its report.
fn reported(idle: &Idle) -> (SetView, Value) {
    let mut set = web().set;
    set.update_policy = Some(UpdatePolicy::OnClaimDelete);
    let withdrawn = *idle == Idle::Withdrawn;
    if withdrawn {
        set.staged = None;
    }
    let revision = Revision::of(set.wanted()).to_string();
    let ready = json!({"type": "Ready", "status": "True", "reason": idle.as_str(), "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let mut status = json!({"observedGeneration": 2, "updateRevision": revision, "conditions": [ready]});
    if !withdrawn {
        status["replicas"] = json!(3);
    }
    let mut report = fixtures::rollout(&json!({"name": "web", "generation": 2}), &status);
    report.spec.revision = revision;
    (set, serde_json::to_value(report).unwrap())
}

#[test]
fn counted_set_is_recognized_by_its_report() {
    type Row = (&'static str, Idle, &'static str, Value, bool);
    let uid = "/spec/setRef/uid";
    let rows: [Row; 6] = [
        ("counted", Idle::OnClaimDelete, uid, json!("set-uid"), true),
        ("withdrawn", Idle::Withdrawn, uid, json!("set-uid"), true),
        ("of another set", Idle::OnClaimDelete, uid, json!("other"), false),
        (
            "there were fewer replicas",
            Idle::OnClaimDelete,
            "/status/replicas",
            json!(2),
            false,
        ),
        (
            "it was rolled out",
            Idle::OnClaimDelete,
            "/status/conditions/0/reason",
            json!("RollingOut"),
            false,
        ),
        ("never reported", Idle::Withdrawn, "/status", Value::Null, false),
    ];
    for (why, idle, path, value, expected) in rows {
        let (set, mut report) = reported(&idle);
        *report.pointer_mut(path).unwrap() = value;
        let report = serde_json::from_value(report).unwrap();
        assert_eq!(was_counted(&set, &idle, &report), expected, "{why}");
    }
}

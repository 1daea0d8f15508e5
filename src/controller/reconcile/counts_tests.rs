use serde_json::{Value, json};

use super::was_counted;
use crate::controller::fixtures;
use crate::controller::fixtures::changed;
use crate::gate::{Idle, SetView};
use crate::rollout::fixtures::{rows, web};
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

/// The report, whether a change was withdrawn, a change of the report, and whether the set was counted.
const ROWS: &str = r#"
    counted                   | OnClaimDelete | /spec/setRef/uid            | "set-uid"    | true
    withdrawn                 | Withdrawn     | /spec/setRef/uid            | "set-uid"    | true
    of another set            | OnClaimDelete | /spec/setRef/uid            | "other"      | false
    there were fewer replicas | OnClaimDelete | /status/replicas            | 2            | false
    it was rolled out         | OnClaimDelete | /status/conditions/0/reason | "RollingOut" | false
    never reported            | Withdrawn     | /status                     | null         | false
"#;

#[test]
fn counted_set_is_recognized_by_its_report() {
    for [why, idle, place, json, expected] in rows(ROWS) {
        let idle = if idle == "Withdrawn" {
            Idle::Withdrawn
        } else {
            Idle::OnClaimDelete
        };
        let (set, report) = reported(&idle);
        let report = serde_json::from_value(changed(report, place, json)).unwrap();
        assert_eq!(was_counted(&set, &idle, &report).to_string(), expected, "{why}");
    }
}

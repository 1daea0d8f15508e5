//! Requests about a StatefulSet that is being replaced.

use serde_json::{Value, json};

use super::controller::written;
use super::row::{GuardRow, SETS, request};
use crate::api::settings::DEFAULT_CONTROLLER_ACCOUNT as CONTROLLER;

/// The ClaimRollout of this name, while a replacement is in this phase and reports these replicas.
fn replacing(name: &str, phase: &str, replicas: Option<i64>) -> Value {
    let mut rollout = json!({"metadata": {"name": name}, "status": {"replacement": {"phase": phase}}});
    if let Some(replicas) = replicas {
        rollout["status"]["replacement"]["replicas"] = replicas.into();
    }
    rollout
}

/// The replicas with which somebody creates `web`, the phase and the replicas that the ClaimRollout reports, and whether
/// the guard denies it.
type CreateRow = (Option<i64>, &'static str, Option<i64>, bool);

const CREATE_ROWS: [CreateRow; 12] = [
    (None, "InProgress", Some(3), true),
    (Some(1), "InProgress", Some(3), true),
    (Some(2), "Stalled", Some(3), true),
    (Some(0), "Stalled", Some(1), true),
    (Some(3), "InProgress", Some(3), false),
    (Some(4), "Stalled", Some(3), false),
    (None, "InProgress", Some(1), false),
    (Some(0), "InProgress", Some(0), false),
    // It has ended, or did not begin.
    (None, "Replaced", Some(3), false),
    (None, "Refused", Some(3), false),
    (None, "InProgress", None, false),
    (None, "Stalled", None, false),
];

pub(super) fn rows() -> Vec<GuardRow> {
    let mut rows = Vec::new();
    for (replicas, phase, reported, is_denied) in CREATE_ROWS {
        let [web, other] = ["web", "other"].map(|name| replacing(name, phase, reported));
        let fresh = json!({"metadata": {"name": "web-2"}});
        for (user, rollouts, is_denied) in [
            ("bob", vec![web.clone()], is_denied),
            ("bob", vec![other.clone(), fresh.clone()], false),
            (CONTROLLER, vec![web.clone()], false),
            ("bob", vec![other, fresh, web], is_denied),
            ("bob", vec![json!({"metadata": {"name": "web"}})], false),
            ("bob", Vec::new(), false),
        ] {
            let mut set = written(if user == "bob" { "plain" } else { "marked" });
            set["spec"] = replicas.map_or(json!({}), |replicas| json!({ "replicas": replicas }));
            rows.push(GuardRow {
                what: format!("{user} creates {replicas:?}, {phase} {reported:?}"),
                request: request(user, "CREATE", "", SETS),
                old: Value::Null,
                object: set,
                rollouts,
                expected: is_denied.then(|| "claim-rollout-creating: validation 0".to_owned()),
            });
        }
    }
    let set = |marked: bool, annotations: Value| {
        let finalizers = if marked {
            json!(["claim-rollout.io/replacing"])
        } else {
            json!([])
        };
        json!({"metadata": {"name": "web", "annotations": annotations, "finalizers": finalizers}})
    };
    let (marked, plain) = (
        |note: &str| set(true, json!({"a": note})),
        set(false, json!({"a": "1"})),
    );
    let withdraws = set(true, json!({"a": "1", "claim-rollout.io/withdraw": "x"}));
    for (operation, subresource, old, object, expected) in [
        ("DELETE", "", marked("1"), Value::Null, Some(0)),
        ("DELETE", "", plain.clone(), Value::Null, None),
        ("UPDATE", "", marked("1"), marked("2"), None),
        ("UPDATE", "", marked("1"), withdraws.clone(), Some(2)),
        ("UPDATE", "", withdraws, marked("1"), Some(2)),
        ("UPDATE", "", marked("1"), plain.clone(), Some(1)),
        ("UPDATE", "status", marked("1"), plain.clone(), Some(1)),
        ("UPDATE", "", plain, marked("1"), Some(1)),
        ("CREATE", "", Value::Null, marked("1"), Some(1)),
    ] {
        rows.push(GuardRow {
            what: format!("bob: {operation} {subresource} of {old}"),
            request: request("bob", operation, subresource, SETS),
            old,
            object,
            rollouts: Vec::new(),
            expected: expected.map(|number: u8| format!("claim-rollout-replacing: validation {number}")),
        });
    }
    rows
}

use serde_json::{Value, json};

use super::super::render::progress;
use super::{Rollout, RolloutPhase, SeenSet, StatusView};
use crate::claims::Claim;
use crate::rollout::fixtures::{staged_change, template};
use crate::templates::StagedChange;

fn set(annotations: &Value) -> SeenSet {
    let set = json!({
        "metadata": {"name": "web", "namespace": "shop", "uid": "u-1", "annotations": annotations},
        "spec": {"replicas": 3, "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {}}]},
    });
    SeenSet::read(&set).expect("a set")
}

/// A set whose rollout of what is staged is in this state.
pub(in crate::cli::status) fn shown(state: &str, revision: &str) -> StatusView {
    StatusView {
        // The report is that of the rollout before.
        complete: matches!(state, "complete" | "unreadable"),
        stalled: state == "stalled",
        unreadable: (state == "unreadable").then(|| "why".to_owned()),
        staged: Some(revision.to_owned()),
        ..super::view("shop", "web", None, None, &[], &[])
    }
}

fn claim(name: &str, revision: Option<&str>, request: &str, capacity: &str) -> Claim {
    let labels = revision.map(|revision| json!({"claim-rollout.io/revision": revision}));
    let claim = json!({
        "metadata": {"name": name, "namespace": "shop", "uid": name, "resourceVersion": "1", "labels": labels},
        "spec": {"resources": {"requests": {"storage": request}}},
        "status": {"phase": "Bound", "capacity": {"storage": capacity}},
    });
    Claim::read(&claim.to_string()).expect("a claim")
}

/// The status as the API server stores it: each PVC and each condition is whole.
fn stored(mut status: Value) -> Value {
    let whole = |item: &mut Value, time: &str| {
        for field in ["reason", "message"] {
            if item[field].is_null() {
                item[field] = "".into();
            }
        }
        item[time] = "2026-11-28T12:00:00Z".into();
    };
    for claim in status
        .get_mut("claims")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        let ordinal = claim["name"]
            .as_str()
            .and_then(|name| name.rsplit('-').next()?.parse::<u32>().ok());
        claim["ordinal"] = ordinal.into();
        whole(claim, "since");
    }
    for condition in status
        .get_mut("conditions")
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        whole(condition, "lastTransitionTime");
    }
    if let Some(replacement) = status.get_mut("replacement") {
        replacement["since"] = "2026-11-28T12:00:00Z".into();
    }
    status
}

fn rollout(policy: &str, status: &Value) -> Rollout {
    let object = json!({
        "apiVersion": "claim-rollout.io/v1alpha1", "kind": "ClaimRollout",
        "metadata": {"name": "web", "namespace": "shop", "generation": 2},
        "spec": {
            "setRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "u-1"},
            "revision": "r2", "staging": "xz245", "updatePolicy": policy, "sync": "LockStep", "replaceSet": "Never",
            "templates": [{"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": "20Gi"}}}}],
        },
        "status": stored(status.clone()),
    });
    serde_json::from_str(&object.to_string()).expect("a ClaimRollout")
}

fn view(namespace: &str, name: &str, set: Option<&SeenSet>, rollout: Option<&Rollout>, claims: &[Claim]) -> StatusView {
    super::view(namespace, name, set, rollout, claims, &[])
}

fn claims() -> Vec<Claim> {
    vec![
        claim("data-web-0", None, "10Gi", "10Gi"),
        claim("data-web-2", Some("r2.xz245"), "20Gi", "20Gi"),
        claim("data-web-1", Some("r2.xz245"), "20Gi", "10Gi"),
        claim("data-other-0", None, "1Gi", "1Gi"),
    ]
}

/// Something is staged; this does not show what.
fn of(rollout: &Rollout) -> StatusView {
    let set = set(&json!({"claim-rollout.io/staged": "{}"}));
    view("shop", "web", Some(&set), Some(rollout), &claims())
}

/// What the controller reported, with the message of `Ready`; the end of the heading, the note, and the states of the PVCs.
type IdleRow = (&'static str, &'static str, &'static str, Option<&'static str>);

#[test]
fn view_where_nothing_is_staged_gives_no_advice() {
    let rows: [IdleRow; 3] = [
        ("it was replaced", "NothingStaged", "No change is staged", None),
        (
            "withdrawn",
            "Withdrawn",
            "Staged change withdrawn",
            Some("Staged change withdrawn"),
        ),
        ("not seen yet", "Complete", "All PVCs are updated and ready", None),
    ];
    for policy in ["InPlace", "OnClaimDelete"] {
        for (row, reason, message, note) in rows {
            let ready = json!([{"type": "Ready", "status": "True", "reason": reason, "message": message}]);
            let rollout = rollout(policy, &json!({"observedGeneration": 2, "conditions": ready}));
            let view = view("shop", "web", Some(&set(&json!({}))), Some(&rollout), &claims());
            assert_eq!(view.note.as_deref(), note, "{row}, {policy}");
            assert!(view.complete, "{row}, {policy}");
            // data-web-1 was written for this revision, and data-web-0 never.
            let states: Vec<_> = view.claims.iter().map(super::ClaimView::state).collect();
            assert_eq!(states, ["Done", "Applied", ""], "{row}, {policy}");
            assert_eq!(view.claims[2].desired, "10Gi", "{row}, {policy}");
            let target = view.target.as_ref().expect("a target");
            assert_eq!(target.reason, reason, "{row}, {policy}");
            assert_eq!(progress(target), "nothing is staged", "{row}, {policy}");
        }
    }
}

#[test]
fn view_has_claims_in_rollout_order_with_their_state() {
    let status = json!({
        "observedGeneration": 2, "replicas": 3, "updatedReplicas": 1, "readyReplicas": 1,
        "claims": [
            {"name": "data-web-1", "ordinal": 1, "state": "Expanding", "reason": "R", "message": "the driver is at it"},
            {"name": "data-web-3", "ordinal": 3, "state": "Missing"},
        ],
        "conditions": [{"type": "Ready", "status": "False"}, {"type": "Reconciling", "status": "True", "message": "busy"}],
    });
    let view = of(&rollout("InPlace", &status));
    let rows: Vec<_> = view
        .claims
        .iter()
        .map(|claim| (claim.row.name.as_str(), claim.state(), claim.percent))
        .collect();
    assert_eq!(
        rows,
        [
            ("data-web-3", "Missing", 0),
            ("data-web-2", "Done", 100),
            ("data-web-1", "Expanding", 50),
            ("data-web-0", "Pending", 50),
        ]
    );
    assert_eq!(view.claims[2].row.why(), "the driver is at it");
    assert_eq!(view.note.as_deref(), Some("busy"));
    assert!(!view.complete);
}

#[test]
fn view_is_complete_when_ready_at_latest_generation() {
    let ready = json!([{"type": "Ready", "status": "True"}]);
    let now = rollout("InPlace", &json!({"observedGeneration": 2, "conditions": ready}));
    assert!(of(&now).complete);
    let previous = rollout("InPlace", &json!({"observedGeneration": 1, "conditions": ready}));
    assert!(!of(&previous).complete);
    let stalled = json!([{"type": "Ready", "status": "True"}, {"type": "Stalled", "status": "True", "message": "no"}]);
    let view = of(&rollout(
        "InPlace",
        &json!({"observedGeneration": 2, "conditions": stalled}),
    ));
    assert_eq!(
        (view.complete, view.target.expect("a target").state),
        (false, RolloutPhase::Stalled)
    );
}

#[test]
fn view_without_rollout_notes_what_to_do() {
    let note = |annotations: &Value| {
        view("shop", "web", Some(&set(annotations)), None, &claims())
            .note
            .expect("a note")
    };
    assert_eq!(
        note(&json!({})),
        "nothing staged: change spec.volumeClaimTemplates and apply it as usual"
    );
    let change = StagedChange {
        uid: "u-1".to_owned(),
        ..staged_change(vec![template("data", "20Gi")])
    };
    let staged = json!({"claim-rollout.io/staged": change.write().expect("short")});
    let expected = format!("{} is staged; the controller has not started", change.revision());
    assert_eq!(note(&staged), expected);
    assert_eq!(
        note(&json!({"claim-rollout.io/staged": r#"{"version":2}"#})),
        "what is staged cannot be read (expected version 1): claim-rollout doctor shows what to do"
    );
    let newer = view(
        "shop",
        "web",
        Some(&set(&staged)),
        Some(&rollout("InPlace", &json!({}))),
        &[],
    );
    assert_eq!(
        newer.note,
        Some(format!("{} is staged and will be next", change.revision()))
    );
}

#[test]
fn view_without_status_shows_written_pvc_as_applied() {
    let view = of(&rollout("InPlace", &Value::Null));
    let states: Vec<_> = view.claims.iter().map(super::ClaimView::state).collect();
    assert_eq!(states, ["Done", "Applied", "Pending"]);
    assert_eq!(view.claims[1].row.why(), "capacity 10Gi of 20Gi");
    let target = view.target.expect("a target");
    assert_eq!(
        (target.updated, target.replicas, target.state),
        (0, 3, RolloutPhase::Reconciling)
    );
}

#[test]
fn view_with_older_report_shows_written_pvc_as_applied() {
    let pending = |name: &str| json!({"name": name, "state": "Pending", "message": "waiting for its turn"});
    let claims = ["data-web-2", "data-web-1", "data-web-0"].map(pending);
    let view = of(&rollout("InPlace", &json!({"observedGeneration": 2, "claims": claims})));
    let rows = view.claims.iter().map(|claim| (claim.state(), claim.row.why()));
    let expected = [
        ("Done", ""),
        ("Applied", "capacity 10Gi of 20Gi"),
        ("Pending", "waiting for its turn"),
    ];
    assert!(rows.eq(expected), "{view:?}");
}

#[test]
fn view_on_claim_delete_has_no_claim_state() {
    let view = of(&rollout("OnClaimDelete", &json!({})));
    assert_eq!(view.claims[2].row.state, None);
    let note = view.note.expect("a note");
    assert_eq!(
        note,
        "only new PVCs; for all: kubectl annotate -n shop sts web claim-rollout.io/update-policy=InPlace --overwrite"
    );
}

/// As for the controller, which writes it again.
#[test]
fn status_of_unknown_shape_counts_as_absent() {
    let view = of(&rollout("InPlace", &json!({"replicas": "three"})));
    assert_eq!(view, of(&rollout("InPlace", &Value::Null)));
}

#[test]
fn view_follows_a_set_while_it_is_replaced() {
    let replacing = |phase: &str| rollout("InPlace", &json!({"replacement": {"phase": phase, "step": "Mark"}}));
    let another = |is_marked: bool| {
        let mut set = set(&json!({}));
        set.view.uid = "u-2".to_owned();
        SeenSet { is_marked, ..set }
    };
    let marked = another(true);
    for (what, phase, set, expected) in [
        ("the new one", "InProgress", &marked, true),
        ("the new one, and it waits", "Stalled", &marked, true),
        ("another one, unmarked", "InProgress", &another(false), false),
        ("the next replacement", "Replaced", &marked, false),
    ] {
        assert_eq!(replacing(phase).shows(set), expected, "{what}");
    }
    for (phase, expected) in [
        (
            "InProgress",
            "the StatefulSet does not exist at this moment; its Pods do",
        ),
        ("Replaced", "the StatefulSet was deleted"),
    ] {
        let view = view("shop", "web", None, Some(&replacing(phase)), &[]);
        assert_eq!(view.note.as_deref(), Some(expected), "{phase}");
        assert_eq!(view.awaits_replacement, phase == "InProgress", "{phase}");
    }
    let status = json!({
        "observedGeneration": 2, "conditions": [{"type": "Ready", "status": "True"}],
        "replacement": {"phase": "InProgress"},
    });
    let view = of(&rollout("InPlace", &status));
    assert_eq!((view.complete, view.is_done()), (true, false));
}

/// The type and the reason of the condition that rules, and whether the note has the reason.
const NOTES: [(&str, &str, bool); 5] = [
    ("Stalled", "ClaimRefused", true),
    ("Stalled", "StagedBeforePolicy", true),
    ("Reconciling", "Partitioned", true),
    ("Reconciling", "RollingOut", false),
    ("Stalled", "OfANewerVersion", false),
];

#[test]
fn note_has_the_reason_where_somebody_has_to_act() {
    for (kind, reason, has_reason) in NOTES {
        let condition = json!({"type": kind, "status": "True", "reason": reason, "message": "a message"});
        let rollout = rollout("InPlace", &json!({"conditions": [condition]}));
        let expected = if has_reason {
            format!("{reason}: ")
        } else {
            String::new()
        } + "a message";
        assert_eq!(of(&rollout).note, Some(expected), "{reason}");
    }
}

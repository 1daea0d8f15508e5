use kube::{Api, CustomResourceExt as _};
use serde_json::{Value, json};

use super::{
    ApiOutcome, ClaimRollout, ClaimRolloutStatus, ReplaceSet, ReplacementStatus, ReportWrite, ensure, essence, owner,
    spec, status, time,
};
use crate::controller::fixtures;
use crate::controller::objects::set::SlimSet;
use crate::rollout::fixtures::web;
use crate::rollout::snapshot::{Resize, Snapshot};
use crate::rollout::{Progress, plan};
use crate::templates::Phase;

/// A rollout whose highest PVC was just written.
fn rolling() -> Progress {
    let mut web = web();
    web.applied("data-web-2");
    plan(&web).progress
}

fn complete() -> Progress {
    let mut web = web();
    for name in ["data-web-2", "data-web-1", "data-web-0"] {
        web.done(name);
    }
    web.phase(Phase::Complete);
    plan(&web).progress
}

/// Evaluates Ready as `kubectl wait --for=condition=Ready` does: a condition of an older generation does not count.
fn is_ready(status: &ClaimRolloutStatus, generation: i64) -> bool {
    let ready = status.conditions.iter().find(|condition| condition.type_ == "Ready");
    ready.is_some_and(|ready| ready.status == "True" && ready.observed_generation >= Some(generation))
}

#[test]
fn new_target_is_not_ready_because_the_previous_one_was() {
    let before = status(&complete(), None, 1, 10);
    assert!(is_ready(&before, 1));
    // The next target was written, but its status was not.
    assert!(!is_ready(&before, 2));
    let after = status(&rolling(), Some(&before), 2, 20);
    assert!(!is_ready(&after, 2));
    let found: Vec<_> = after
        .conditions
        .iter()
        .map(|condition| {
            (
                condition.type_.as_str(),
                condition.status.as_str(),
                condition.observed_generation,
            )
        })
        .collect();
    let expected = [
        ("Ready", "False", Some(2)),
        ("Reconciling", "True", Some(2)),
        ("Stalled", "False", Some(2)),
    ];
    assert_eq!((found, after.observed_generation), (expected.into(), 2));
    assert!(after.conditions.iter().all(|condition| !condition.reason.is_empty()));
}

/// OpenShift denies an owner reference that blocks the deletion of its owner, unless the account may update the
/// finalizers of the owner.
#[test]
fn owner_of_report_needs_no_right_on_the_statefulset() {
    let set: SlimSet = serde_json::from_value(json!({"metadata": {"name": "web", "uid": "u"}})).unwrap();
    let owner = serde_json::to_value(owner(&set)).unwrap();
    let expected = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "u"});
    assert_eq!(owner, expected);
}

#[test]
fn unchanged_parts_keep_their_times() {
    let first = status(&rolling(), None, 1, 10);
    let mut later = rolling();
    later.ready.message.push_str(", still");
    later.claims[0].message.push_str(", still");
    let second = status(&later, Some(&first), 1, 20);
    let since = |status: &ClaimRolloutStatus| status.claims[0].since.clone();
    assert_eq!(
        (since(&first), since(&second)),
        (time(10), time(10)),
        "only the message changed"
    );
    assert_eq!(second.conditions[0].last_transition_time, time(10));
    assert_eq!(second.conditions[0].message, later.ready.message);
    later.claims[0].reason = "Resizing".to_owned();
    assert_eq!(since(&status(&later, Some(&second), 1, 30)), time(30));
    let third = status(&complete(), Some(&second), 1, 30);
    let transitions: Vec<_> = third
        .conditions
        .iter()
        .map(|condition| condition.last_transition_time.clone())
        .collect();
    assert_eq!(transitions, [time(30), time(30), time(10)], "Stalled did not change");
    assert_eq!(third.started_at, Some(time(950)));
    later.started = 999;
    let started = |before: &ClaimRolloutStatus| status(&later, Some(before), 1, 30).started_at;
    assert_eq!(started(&third), Some(time(950)), "the start of the same target stays");
    let another = ClaimRolloutStatus {
        update_revision: "another".to_owned(),
        ..third
    };
    assert_eq!(started(&another), Some(time(999)));
}

/// A controller was killed after the last step of a replacement and before its last report.
#[test]
fn replacement_without_a_last_report_has_ended_when_live() {
    let mut live = complete();
    live.ready.reason = "NothingStaged";
    for (progress, phase, expected) in [
        (&live, "InProgress", ("Replaced", None, time(20))),
        (&live, "Replaced", ("Replaced", Some("Mark"), time(10))),
        (&live, "Refused", ("Refused", Some("Mark"), time(10))),
        (&complete(), "InProgress", ("InProgress", Some("Mark"), time(10))),
    ] {
        let before = ClaimRolloutStatus {
            update_revision: progress.update_revision.to_string(),
            staging: progress.staging.as_ref().map(ToString::to_string),
            replacement: Some(ReplacementStatus {
                phase: phase.to_owned(),
                step: Some("Mark".to_owned()),
                reason: None,
                message: None,
                replicas: Some(3),
                since: time(10),
            }),
            ..ClaimRolloutStatus::default()
        };
        let after = status(progress, Some(&before), 2, 20)
            .replacement
            .expect("a replacement");
        let found = (&*after.phase, after.step.as_deref(), after.since);
        assert_eq!(found, expected, "{phase} {}", progress.ready.reason);
        assert_eq!(after.replicas, None, "{phase} {}", progress.ready.reason);
    }
}

/// A set that somebody else created has another target than the one whose replacement it ended.
#[test]
fn replacement_is_reported_until_the_next_target() {
    let reported = |reason: &str| {
        Some(ReplacementStatus {
            phase: "Stalled".to_owned(),
            step: None,
            reason: Some(reason.to_owned()),
            message: None,
            replicas: None,
            since: time(10),
        })
    };
    let mut withdrawn = complete();
    withdrawn.ready.reason = "Withdrawn";
    let target = complete().update_revision.to_string();
    for (progress, before, reason, stays) in [
        (complete(), &*target, "ForeignSet", true),
        (complete(), &*target, "StepDenied", true),
        (complete(), "another", "ForeignSet", false),
        (withdrawn.clone(), "another", "ForeignSet", true),
        (withdrawn, "another", "StepDenied", false),
    ] {
        let before = ClaimRolloutStatus {
            update_revision: before.to_owned(),
            staging: progress.staging.as_ref().map(ToString::to_string),
            replacement: reported(reason),
            ..ClaimRolloutStatus::default()
        };
        let expected = before.replacement.clone().filter(|_| stays);
        let after = status(&progress, Some(&before), 2, 20);
        assert_eq!(
            after.replacement, expected,
            "{reason} {} {}",
            before.update_revision, progress.ready.reason
        );
    }
}

#[test]
fn finished_template_has_the_generation_of_the_set() {
    let finished = |progress: &Progress| {
        status(progress, None, 1, 10).volume_claim_templates[0].finished_reconciliation_generation
    };
    assert_eq!(finished(&rolling()), None);
    let mut complete = complete();
    complete.by_template[0].finished = Some(7);
    assert_eq!(finished(&complete), Some(7));
}

#[test]
fn only_intermediate_steps_can_wait() {
    type ChangeRow = (&'static str, bool, fn(&mut Snapshot));
    let rows: [ChangeRow; 8] = [
        ("nothing", true, |_| {}),
        ("the volume is being expanded", true, |web| {
            web.claim("data-web-2").resizing = true;
        }),
        ("the node's turn has come", true, |web| {
            web.claim("data-web-2").file_system_resize_pending = Some(String::new());
        }),
        ("the next one was written", true, |web| _ = web.applied("data-web-1")),
        ("it is done", false, |web| web.done("data-web-2")),
        ("it is stuck", false, |web| {
            web.claim("data-web-2").resize = Some(Resize::NodeInfeasible);
        }),
        ("another claim is deleted", false, |web| {
            _ = web.claims.remove("data-web-0");
        }),
        ("it is paused", false, |web| web.set.paused = true),
    ];
    for (why, can_wait, change) in rows {
        let mut web = web();
        web.applied("data-web-2");
        let before = status(&plan(&web).progress, None, 1, 10);
        change(&mut web);
        let after = status(&plan(&web).progress, Some(&before), 1, 20);
        assert_eq!(essence(&before) == essence(&after), can_wait, "{why}");
        assert_eq!(before == after, why == "nothing", "{why}");
        let of_another_target = status(&plan(&web).progress, Some(&before), 2, 20);
        assert_ne!(essence(&before), essence(&of_another_target), "{why}");
    }
}

#[test]
fn patch_of_the_status_names_every_optional_field() {
    let empty = ClaimRolloutStatus::default();
    let patch = json!(empty);
    let fields: Vec<&String> = patch.as_object().unwrap().keys().collect();
    let schema = json!(ClaimRollout::crd());
    let status = &schema["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"];
    let known: Vec<&String> = status["properties"].as_object().unwrap().keys().collect();
    assert_eq!(fields, known);
    assert_eq!(patch["replicas"], Value::Null);
    let counted = ClaimRolloutStatus {
        replicas: Some(3),
        ..empty
    };
    assert_eq!(json!(counted)["replicas"], 3);
}

/// The garbage collector takes the owner away before a set is deleted without its dependents.
#[tokio::test]
async fn report_of_terminating_set_gets_no_owner_back() {
    for (deleted, expected) in [
        (Some("2026-01-01T00:00:00Z"), ReportWrite::Nothing),
        (None, ReportWrite::Something),
    ] {
        let metadata = json!({"name": "web", "uid": "set-uid", "deletionTimestamp": deleted});
        let set: SlimSet = serde_json::from_value(json!({ "metadata": metadata })).unwrap();
        let mut seen = fixtures::rollout(&json!({"name": "web", "uid": "r"}), &json!({}));
        seen.spec = spec(&set, &rolling(), ReplaceSet::Never);
        let api = Api::namespaced(fixtures::answering(200, &json!(seen)), "default");
        let wanted = seen.spec.clone();
        let ensured = ensure(&api, &set, wanted, Some(seen.into()), false).await;
        let written = match ensured {
            ApiOutcome::Done((_, written)) => Some(written),
            _ => None,
        };
        assert_eq!(written, Some(expected), "{deleted:?}");
    }
}

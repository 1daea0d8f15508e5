use k8s_openapi::api::core::v1::Event;
use serde_json::{Value, json};

use super::{ClaimEvent, ClaimEvents, due, latest, quote};
use crate::controller::claim_events::Pace;
use crate::controller::crd::ClaimRollout;
use crate::controller::fixtures;
use crate::rollout::{ClaimState, Progress, plan};

/// The progress of a rollout whose highest PVC of three is in this state.
fn progress(state: ClaimState) -> Progress {
    let mut progress = plan(&crate::rollout::fixtures::web()).progress;
    let claim = progress.claims.first_mut().unwrap();
    (claim.state, claim.message) = (state, "capacity 1Gi of 2Gi".to_owned());
    progress
}

/// A report with the PVC in this state since second 1000.
fn report(state: &str) -> ClaimRollout {
    let status = json!({"claims": [{
        "name": "data-web-2", "ordinal": 2, "state": state, "reason": "", "message": "",
        "since": "1970-01-01T00:16:40Z",
    }]});
    fixtures::rollout(&json!({"name": "web"}), &status)
}

fn claim_events(read_at: u64) -> ClaimEvents {
    let event = ClaimEvent {
        message: "VolumeResizeFailed: busy".to_owned(),
        read_at,
    };
    [("data-web-2-uid".to_owned(), event)].into()
}

#[test]
fn events_are_read_after_30_seconds_and_then_every_5_minutes() {
    use ClaimState::{Applied, Expanding, Infeasible, Pending};
    for (why, state, reported, read_at, now, expected) in [
        ("for half a minute", Expanding, "Expanding", None, 1030, true),
        ("not for long", Expanding, "Expanding", None, 1029, false),
        ("it moved on since", Expanding, "Applied", None, 1060, false),
        ("nothing has begun", Applied, "Applied", None, 1060, true),
        ("it is not in motion", Pending, "Pending", None, 1060, false),
        (
            "it is not in motion any more",
            Infeasible,
            "Infeasible",
            None,
            1060,
            false,
        ),
        ("read not long ago", Expanding, "Expanding", Some(1060), 1359, false),
        ("read long ago", Expanding, "Expanding", Some(1060), 1360, true),
    ] {
        let claim_events = read_at.map(claim_events).unwrap_or_default();
        let due = due(&progress(state), Some(&report(reported)), &claim_events, now);
        assert_eq!(due.as_deref(), expected.then_some("data-web-2-uid"), "{why}");
    }
    assert!(
        due(&progress(Expanding), None, &ClaimEvents::new(), 1060).is_none(),
        "never reported"
    );
    let mut with_condition = progress(Expanding);
    "ControllerResizeError".clone_into(&mut with_condition.claims[0].reason);
    let due = due(&with_condition, Some(&report("Expanding")), &ClaimEvents::new(), 1060);
    assert_eq!(due, None, "its condition has the cause");
}

#[test]
fn events_of_claims_are_read_one_after_the_other() {
    let mut progress = progress(ClaimState::Expanding);
    let mut report = report("Expanding");
    for claim in &mut progress.claims {
        claim.state = ClaimState::Expanding;
    }
    let status = report.status.as_mut().unwrap();
    for name in ["data-web-1", "data-web-0"] {
        let mut claim = status.claims[0].clone();
        name.clone_into(&mut claim.name);
        status.claims.push(claim);
    }
    let mut claim_events = ClaimEvents::new();
    for (now, expected) in [
        (1060, Some("data-web-2-uid")),
        (1090, Some("data-web-1-uid")),
        (1120, Some("data-web-0-uid")),
        (1150, None),
        (1360, Some("data-web-2-uid")),
    ] {
        let due = due(&progress, Some(&report), &claim_events, now);
        assert_eq!(due.as_deref(), expected, "{now}");
        let message = String::new();
        claim_events.extend(due.map(|uid| (uid, ClaimEvent { message, read_at: now })));
    }
}

#[test]
fn reads_of_all_reconciles_share_a_rate_limit() {
    let pace = Pace::default();
    for (why, now, expected) in [
        ("the first", 1000, true),
        ("another one at once", 1000, false),
        ("too early", 1004, false),
        ("in time", 1005, true),
        ("too early again", 1009, false),
        ("the clock was set back", 500, true),
        ("and goes on", 505, true),
    ] {
        assert_eq!(pace.admits(now), expected, "{why}");
    }
}

#[test]
fn event_is_added_only_while_claim_is_in_motion() {
    for (state, expected) in [
        (ClaimState::Expanding, "capacity 1Gi of 2Gi; VolumeResizeFailed: busy"),
        (ClaimState::Infeasible, "capacity 1Gi of 2Gi"),
    ] {
        let mut progress = progress(state);
        let others = progress.claims[1..].to_vec();
        quote(&mut progress, &claim_events(1060));
        assert_eq!(progress.claims[0].message, expected);
        assert_eq!(progress.claims[1..], others);
    }
}

#[test]
fn latest_event_is_found_in_every_time_format() {
    let event = |reason: &str, time: Value, by: &str| -> Event {
        let mut event = json!({
            "metadata": {"name": reason}, "involvedObject": {}, "reason": reason, "message": "why\nmore",
            "reportingComponent": by,
        });
        event.as_object_mut().unwrap().extend(time.as_object().unwrap().clone());
        serde_json::from_value(event).unwrap()
    };
    let last = |minute: u8| json!({"lastTimestamp": format!("2026-01-01T00:{minute:02}:00Z")});
    let once = |minute: u8| json!({"eventTime": format!("2026-01-01T00:{minute:02}:00.000000Z")});
    let series = |minute: u8| {
        json!({
            "eventTime": "2026-01-01T00:00:00.000000Z",
            "series": {"count": 2, "lastObservedTime": format!("2026-01-01T00:{minute:02}:00.000000Z")},
        })
    };
    for (events, expected) in [
        (vec![], None),
        (vec![event("A", last(1), ""), event("B", last(2), "")], Some("B: why")),
        (vec![event("A", last(3), ""), event("B", once(2), "")], Some("A: why")),
        (vec![event("A", series(4), ""), event("B", last(3), "")], Some("A: why")),
        (
            vec![
                event("A", last(1), ""),
                event("B", once(2), "claim-rollout.io/controller"),
            ],
            Some("A: why"),
        ),
    ] {
        assert_eq!(latest(&events).as_deref(), expected);
    }
}

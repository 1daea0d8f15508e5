use k8s_openapi::api::core::v1::Event;
use serde_json::{Value, json};

use super::{latest, since};
use crate::controller::crd::ClaimRollout;
use crate::controller::fixtures;
use crate::gate::ClaimState;
use crate::rollout::plan;

/// A report with the PVC in this state since second 1000.
fn report(state: &str) -> ClaimRollout {
    let status = json!({"claims": [{
        "name": "data-web-2", "ordinal": 2, "state": state, "reason": "", "message": "",
        "since": "1970-01-01T00:16:40Z",
    }]});
    fixtures::rollout(&json!({"name": "web"}), &status)
}

#[test]
fn claim_is_in_its_state_since_the_report() {
    let mut progress = plan(&crate::rollout::fixtures::web()).progress;
    let claim = progress.claims.first_mut().unwrap();
    claim.state = ClaimState::Expanding;
    for (what, report, expected) in [
        ("the same state", Some(report("Expanding")), Some(1000)),
        ("it moved on since", Some(report("Applied")), None),
        ("never reported", None, None),
    ] {
        assert_eq!(since(report.as_ref(), claim), expected, "{what}");
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

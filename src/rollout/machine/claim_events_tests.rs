use super::{ClaimEvent, ClaimEvents, due, note};
use crate::gate::ClaimState;
use crate::rollout::fixtures::web;
use crate::rollout::{ClaimProgress, Progress, plan};

const UID: &str = "data-web-2-uid";

/// The progress of a rollout whose highest PVC of three is in this state.
fn progress(state: ClaimState) -> Progress {
    let mut progress = plan(&web()).progress;
    progress.claims.first_mut().unwrap().state = state;
    progress
}

fn read(read_at: u64) -> ClaimEvents {
    let message = "VolumeResizeFailed: busy".to_owned();
    [(UID.to_owned(), ClaimEvent { message, read_at })].into()
}

#[test]
fn events_are_read_after_30_seconds_and_then_every_5_minutes() {
    use ClaimState::{Applied, Expanding, Infeasible, Pending};
    for (why, state, since, read_at, now, expected) in [
        ("for half a minute", Expanding, Some(1000), None, 1030, true),
        ("not for long", Expanding, Some(1000), None, 1029, false),
        ("it moved on since", Expanding, None, None, 1060, false),
        ("nothing has begun", Applied, Some(1000), None, 1060, true),
        ("it is not in motion", Pending, Some(1000), None, 1060, false),
        (
            "it is not in motion any more",
            Infeasible,
            Some(1000),
            None,
            1060,
            false,
        ),
        ("read not long ago", Expanding, Some(1000), Some(1060), 1359, false),
        ("read long ago", Expanding, Some(1000), Some(1060), 1360, true),
        ("the clock was set back", Expanding, Some(1000), Some(9000), 1060, true),
    ] {
        let mut events = read_at.map(read).unwrap_or_default();
        let due = due(&mut events, &progress(state), |_| since, now);
        assert_eq!(due.as_deref(), expected.then_some(UID), "{why}");
    }
    let mut with_condition = progress(Expanding);
    "ControllerResizeError".clone_into(&mut with_condition.claims[0].reason);
    let mut events = read(1060);
    let due = due(&mut events, &with_condition, |_| Some(1000), 1360);
    assert_eq!((due, events.len()), (None, 0), "its condition has the cause");
}

#[test]
fn events_of_claims_are_read_one_after_the_other() {
    let mut progress = progress(ClaimState::Expanding);
    for claim in &mut progress.claims {
        claim.state = ClaimState::Expanding;
    }
    let since = |_: &ClaimProgress| Some(1000);
    let mut events = ClaimEvents::new();
    for (now, expected) in [
        (1060, Some(UID)),
        (1090, Some("data-web-1-uid")),
        (1120, Some("data-web-0-uid")),
        (1150, None),
        (1360, Some(UID)),
    ] {
        let due = due(&mut events, &progress, since, now);
        assert_eq!(due.as_deref(), expected, "{now}");
        due.map(|uid| note(&mut events, uid, None, now));
    }
}

#[test]
fn event_is_new_only_with_another_message() {
    let mut events = ClaimEvents::new();
    for (what, message, is_new, expected) in [
        ("there is none", None, false, ""),
        ("the first", Some("a"), true, "a"),
        ("the same", Some("a"), false, "a"),
        ("it has expired", None, false, "a"),
        ("another", Some("b"), true, "b"),
    ] {
        let noted = note(&mut events, UID.to_owned(), message.map(str::to_owned), 5);
        assert_eq!((noted, &*events[UID].message), (is_new, expected), "{what}");
    }
}

/// The text of an Event is an input of the plan.
#[test]
fn event_is_added_only_while_claim_is_in_motion() {
    let mut snapshot = web();
    let busy = "VolumeResizeFailed: busy".to_owned();
    snapshot.claim_events.insert(UID.to_owned(), busy.clone());
    let message = |snapshot: &_| plan(snapshot).progress.claims[0].message.clone();
    assert!(!message(&snapshot).contains(&busy), "it is not written yet");
    snapshot.applied("data-web-2");
    let expected = format!("; {busy}");
    assert!(message(&snapshot).ends_with(&expected), "{}", message(&snapshot));
    let others = plan(&snapshot).progress.claims.into_iter().skip(1);
    assert!(others.filter(|claim| claim.message.contains(&busy)).count() == 0);
}

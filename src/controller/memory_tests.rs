use std::collections::BTreeMap;

use super::{Remembered, SetMemory};
use crate::claims;
use crate::controller::crd::ClaimRollout;
use crate::controller::fixtures;
use crate::controller::settled::{Basis, Settled};
use crate::controller::slim_claim::SlimClaim;
use crate::controller::slim_set::SlimSet;
use crate::controller::undone::Undone;
use crate::controller::views;
use crate::rollout::fixtures::label;
use crate::rollout::{ApplyClaim, Refusal};
use crate::templates::{ClaimName, Quantity};

fn claim(uid: &str, resource_version: &str) -> claims::Claim {
    let claim: SlimClaim = serde_json::from_value(serde_json::json!({
        "metadata": { "name": "data-web-0", "uid": uid, "resourceVersion": resource_version },
    }))
    .unwrap();
    views::claim(&claim).unwrap()
}

fn seen(claim: claims::Claim) -> BTreeMap<String, claims::Claim> {
    [(claim.name.clone(), claim)].into()
}

#[test]
fn older_claim_is_replaced_by_reply_until_watch_catches_up() {
    let mut memory = SetMemory::default();
    memory.applied(claim("a", "10"));
    // Compared as numbers: 9 is older than 10.
    for (version, expected) in [("9", "10"), ("10", "10"), ("9", "9")] {
        let mut claims = seen(claim("a", version));
        memory.overlay(&mut claims, 5);
        assert_eq!(claims["data-web-0"].resource_version, expected, "{version}");
    }
}

#[test]
fn reply_of_deleted_claim_is_forgotten() {
    let mut memory = SetMemory::default();
    memory.applied(claim("a", "10"));
    let mut claims = seen(claim("b", "9"));
    memory.overlay(&mut claims, 5);
    assert_eq!(claims["data-web-0"].uid, "b");
}

/// Otherwise one write without an answer would count as denied at once, for the rest of the rollout.
#[test]
fn unanswered_writes_of_a_deleted_claim_are_forgotten() {
    for (what, uid, expected) in [("it exists", "a", true), ("another one has its name", "b", false)] {
        let mut memory = SetMemory::default();
        for _ in 0..Refusal::UNANSWERED {
            assert!(!memory.is_unanswered("a"), "{what}");
        }
        memory.overlay(&mut seen(claim(uid, "9")), 5);
        assert_eq!(memory.is_unanswered("c"), expected, "{what}");
    }
}

fn apply() -> ApplyClaim {
    ApplyClaim {
        name: ClaimName::new("data", "web", 0).unwrap(),
        uid: "a".to_owned(),
        resource_version: "9".to_owned(),
        storage: Quantity::from_bytes(1),
        taken_back: None,
        volume_attributes_class_name: None,
        labels: BTreeMap::new(),
        annotations: BTreeMap::new(),
        label: label("one"),
    }
}

#[test]
fn denials_count_per_revision_and_end_with_the_claim() {
    let mut memory = SetMemory::default();
    let mut apply = apply();
    for attempts in [1, 2, 3] {
        memory.note_denied(&apply, ("Forbidden".to_owned(), "quota".to_owned()), None, 5);
        assert_eq!(memory.denials["a"].attempts, attempts);
    }
    apply.label = label("two");
    memory.note_denied(&apply, ("Forbidden".to_owned(), "quota".to_owned()), None, 5);
    let denial = &memory.denials["a"];
    assert_eq!((denial.attempts, &*denial.resource_version), (1, "9"));
    let changed = Refusal::CHANGED_BY_OTHERS.to_owned();
    memory.note_denied(&apply, (changed, "label".to_owned()), Some("10".to_owned()), 5);
    // Only an apply that passes now is due; its backoff continues if it is denied again.
    memory.retry_now(|_, denial| denial.cause == "Forbidden");
    let denial = &memory.denials["a"];
    assert_eq!((denial.attempts, &*denial.resource_version), (2, "10"));
    assert_eq!(denial.last, 5);
    memory.retry_now(|claim, _| claim == "a");
    let denial = &memory.denials["a"];
    assert_eq!((denial.attempts, denial.last), (2, 0));
    memory.overlay(&mut seen(claim("b", "9")), 5);
    assert!(memory.denials.is_empty());
}

#[test]
fn new_request_ends_every_pause_and_keeps_attempts() {
    let mut memory = SetMemory::default();
    let again = |before: Option<&Undone>| Some(Undone::again(before, "it".to_owned(), 100));
    let twice = again(again(None).as_ref());
    (memory.undone, memory.write_denied, memory.not_evicted) = (twice.clone(), twice.clone(), twice);
    let denial = Refusal {
        label: label("one"),
        resource_version: "9".to_owned(),
        cause: "Forbidden".to_owned(),
        message: "quota".to_owned(),
        attempts: 9,
        last: 100,
    };
    memory.denials.insert("a".to_owned(), denial);
    let pauses = |memory: &SetMemory| {
        let faults = [&memory.undone, &memory.write_denied, &memory.not_evicted];
        let faults = faults.map(|fault| fault.as_ref().map(|fault| fault.retry_at(100)));
        (memory.denials["a"].retry_at(100), memory.denials["a"].attempts, faults)
    };
    assert!(!memory.retry_if_new(None));
    assert_eq!(pauses(&memory), (356, 9, [Some(102); 3]));
    assert!(memory.retry_if_new(Some(1)));
    assert_eq!(pauses(&memory), (256, 9, [Some(2); 3]), "counted from the epoch");
    assert!(!memory.retry_if_new(Some(1)), "the same");
}

fn report(uid: &str, resource_version: &str) -> ClaimRollout {
    let metadata = serde_json::json!({ "name": "web", "uid": uid, "resourceVersion": resource_version });
    fixtures::rollout(&metadata, &serde_json::Value::Null)
}

/// A description, what the watch shows one after the other, and the latest version each time.
type ShownReports = (
    &'static str,
    [Option<(&'static str, &'static str)>; 3],
    [Option<&'static str>; 3],
);

#[test]
fn written_report_is_latest_until_watch_catches_up() {
    let rows: [ShownReports; 5] = [
        (
            "just created",
            [None, None, Some(("a", "10"))],
            [Some("10"), Some("10"), Some("10")],
        ),
        (
            "changed",
            [Some(("a", "9")), Some(("a", "10")), Some(("a", "11"))],
            [Some("10"), Some("10"), Some("11")],
        ),
        (
            "shown and then deleted",
            [Some(("a", "9")), None, None],
            [Some("10"), None, None],
        ),
        (
            "created in place of another",
            [Some(("b", "9")), None, Some(("a", "10"))],
            [Some("10"), Some("10"), Some("10")],
        ),
        (
            "replaced by another",
            [Some(("c", "12")), None, None],
            [Some("12"), None, None],
        ),
    ];
    for (why, shown, expected) in rows {
        let mut memory = SetMemory::default();
        memory.reported(report("a", "10").into(), 5);
        let known = shown.map(|seen| memory.latest(seen.map(|(uid, version)| report(uid, version).into())));
        let versions = known.map(|known| known.and_then(|known| known.metadata.resource_version.clone()));
        assert_eq!(versions.each_ref().map(Option::as_deref), expected, "{why}");
    }
}

#[test]
fn failed_report_falls_back_to_the_watch() {
    let mut memory = SetMemory::default();
    memory.reported(report("a", "10").into(), 5);
    memory.report_failed();
    assert_eq!(memory.latest(None), None);
}

#[test]
fn settled_memory_is_small_and_keeps_what_was_shown() {
    assert!(size_of::<Remembered>() <= 56, "{} bytes", size_of::<Remembered>());
    let web: SlimSet = serde_json::from_value(serde_json::json!({ "metadata": { "name": "web" } })).unwrap();
    let settled = Settled::since(5, "default", Basis::of(&web, None));
    let mut known = Remembered::default();
    known.with(|memory| {
        let apply = apply();
        memory.latest(Some(report("a", "9").into()));
        memory.applied(claim("a", "10"));
        memory.applies.note(&apply.label, &claim("a", "10"), 5);
        memory.note_denied(&apply, ("Forbidden".to_owned(), "quota".to_owned()), None, 5);
        memory.kept_pods.insert("web-0".to_owned(), "u".to_owned());
        memory.modified.insert("a".to_owned(), vec![5]);
        memory.unlisted.insert("data-web-0".to_owned(), Default::default());
        memory.ended = Some(("9".to_owned(), 5));
        memory.is_stuck("a", "a step", 5);
        memory.reported_at = Some(5);
    });
    assert!(matches!(known, Remembered::Whole(_)), "it is not settled");
    known.with(|memory| memory.settle(settled));
    assert!(matches!(known, Remembered::Settled(..)), "{known:?}");
    known.with(|memory| memory.failures = 1);
    assert!(matches!(known, Remembered::Whole(_)), "a failure is remembered");
    known.with(|memory| memory.failures = 0);
    assert!(matches!(known, Remembered::Settled(..)), "{known:?}");
    known.with(|memory| memory.reported(report("a", "10").into(), 6));
    let latest = known.with(|memory| memory.latest(None));
    assert_eq!(latest, None, "it was shown before, so it was deleted");
}

use super::{Refusal, WrittenObject};
use crate::claims::Claim;
use crate::gate::readiness::CHANGED_BY_OTHERS;
use crate::rollout::fixtures::label;
use crate::rollout::machine::fixtures::{OfTests, TestMemory, claim};
use crate::rollout::machine::{AttemptedWrite, RetriedWrite, WriteReply};

/// The version of the PVC that a decision reads where the watch shows this one.
fn overlaid(memory: &mut TestMemory, mut seen: Claim) -> String {
    memory.overlay([&mut seen].into_iter(), 5);
    format!("{} {}", seen.uid, seen.resource_version)
}

#[test]
fn older_claim_is_replaced_by_reply_until_watch_catches_up() {
    let mut memory = TestMemory::default();
    memory.applied(claim("a", "10"));
    // Compared as numbers: 9 is older than 10.
    for (version, expected) in [("9", "a 10"), ("10", "a 10"), ("9", "a 9")] {
        assert_eq!(overlaid(&mut memory, claim("a", version)), expected, "{version}");
    }
}

#[test]
fn reply_of_deleted_claim_is_forgotten() {
    let mut memory = TestMemory::default();
    memory.applied(claim("a", "10"));
    assert_eq!(overlaid(&mut memory, claim("b", "9")), "b 9");
    assert_eq!(overlaid(&mut memory, claim("a", "9")), "a 9");
}

/// Otherwise one write without an answer would count as denied at once, for the rest of the rollout.
#[test]
fn unanswered_writes_of_a_deleted_claim_are_forgotten() {
    for (what, uid, expected) in [("it exists", "a", true), ("another one has its name", "b", false)] {
        let mut memory = TestMemory::default();
        let [a, c] = ["a", "c"].map(|uid| WrittenObject::Claim(uid.to_owned()));
        for _ in 0..Refusal::UNANSWERED {
            assert!(!memory.is_unanswered(&a), "{what}");
        }
        overlaid(&mut memory, claim(uid, "9"));
        assert_eq!(memory.is_unanswered(&c), expected, "{what}");
    }
}

fn denied(cause: &str, stored: Option<&str>) -> WriteReply<OfTests> {
    WriteReply::Denied {
        cause: cause.to_owned(),
        message: "no".to_owned(),
        stored: stored.map(str::to_owned),
    }
}

#[test]
fn denials_count_per_revision_and_end_with_the_claim() {
    let mut memory = TestMemory::default();
    let (uid, version) = ("a".to_owned(), "9".to_owned());
    let [one, two] = ["one", "two"].map(label);
    let attempt = |label| AttemptedWrite::Apply {
        uid: &uid,
        version: &version,
        label,
        write: version.clone(),
    };
    for attempts in [1, 2, 3] {
        drop(memory.answered(&attempt(&one), denied("Forbidden", None), 5));
        assert_eq!(memory.denials["a"].attempts, attempts);
    }
    drop(memory.answered(&attempt(&two), denied("Forbidden", None), 5));
    let denial = &memory.denials["a"];
    assert_eq!((denial.attempts, &*denial.resource_version), (1, "9"));
    let changed = denied(CHANGED_BY_OTHERS, Some("10"));
    drop(memory.answered(&attempt(&two), changed, 5));
    // Only an apply that passes now is due; its backoff continues if it is denied again.
    memory.retry_now(|_, denial| denial.cause == "Forbidden");
    let denial = &memory.denials["a"];
    assert_eq!((denial.attempts, &*denial.resource_version), (2, "10"));
    assert_eq!(denial.last, 5);
    memory.retry_now(|claim, _| claim == "a");
    let denial = &memory.denials["a"];
    assert_eq!((denial.attempts, denial.last), (2, 0));
    overlaid(&mut memory, claim("b", "9"));
    assert!(memory.denials.is_empty());
}

#[test]
fn new_request_ends_every_pause_and_keeps_attempts() {
    let mut memory = TestMemory::default();
    let again = |before: Option<&RetriedWrite>| Some(RetriedWrite::again(before, "it".to_owned(), 100));
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
    let pauses = |memory: &TestMemory| {
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
        let mut memory = TestMemory::default();
        memory.reported(("a", "10"), 5);
        let known = shown.map(|seen| memory.latest(seen));
        assert_eq!(known.map(|known| Some(known?.1)), expected, "{why}");
    }
}

#[test]
fn failed_report_falls_back_to_the_watch() {
    let mut memory = TestMemory::default();
    memory.reported(("a", "10"), 5);
    memory.report_failed();
    assert_eq!(memory.latest(None), None);
}

#[test]
fn pause_after_failures_doubles_and_ends_with_success() {
    let mut memory = TestMemory::default();
    let pauses = [0, 0, 90, 1, 0, 0, 0, 0, u32::MAX].map(|requested| memory.failed(requested));
    let expected = [1, 2, 90, 8, 16, 32, 60, 60, 300];
    assert_eq!(pauses, expected, "not shorter than asked for, and never for years");
    memory.succeeded();
    assert_eq!(memory.failed(0), 1);
}

#[test]
fn completed_set_waits_until_watch_shows_the_write() {
    for (what, ended, seen, expected) in [
        ("it was not written", None, "7", None),
        ("the watch shows it as it was", Some(("7", 1000)), "7", Some(30)),
        ("for a while", Some(("7", 971)), "7", Some(1)),
        ("for too long", Some(("7", 970)), "7", None),
        ("the clock was set back", Some(("7", 1001)), "7", None),
        ("the watch shows the write", Some(("7", 1000)), "8", None),
    ] {
        let mut memory = TestMemory::default();
        let rests = ended.map(|(version, time)| memory.end(version.to_owned(), time));
        assert!(rests.is_none_or(|rests| rests == 30), "{what}");
        let rests = memory.rests(Some(&seen.to_owned()), || 1, 1000);
        assert_eq!(rests, expected, "{what}");
    }
}

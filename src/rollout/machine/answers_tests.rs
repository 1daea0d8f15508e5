use super::{AttemptedWrite, RoundOutcome, WriteReply};
use crate::rollout::Refusal;
use crate::rollout::fixtures::label;
use crate::rollout::machine::fixtures::{OfTests, TestMemory, claim};
use crate::rollout::machine::{RetriedWrite, WrittenObject};

type TestReply = WriteReply<OfTests>;

fn overtaken() -> TestReply {
    WriteReply::Overtaken("Conflict".to_owned(), "409 no".to_owned())
}

fn denied() -> TestReply {
    WriteReply::Denied {
        cause: "Forbidden".to_owned(),
        message: "no".to_owned(),
        stored: None,
    }
}

fn unsure() -> TestReply {
    WriteReply::Unsure("no answer".to_owned())
}

/// A write of this kind.
fn attempt<'w>(kind: &str, uid: &'w String, label: &'w crate::templates::RevisionLabel) -> AttemptedWrite<'w, OfTests> {
    match kind {
        "apply" => AttemptedWrite::Apply {
            uid,
            version: uid,
            label,
            write: "9".to_owned(),
        },
        "set" => AttemptedWrite::Set("9".to_owned()),
        "evict" => AttemptedWrite::Evict("9".to_owned()),
        _ => AttemptedWrite::Step {
            write: "9".to_owned(),
            of: uid,
            failed: "failed to mark PVC data-web-0".to_owned(),
        },
    }
}

/// The outcome for the round, and what is remembered of a failure of this kind of write.
fn answered(memory: &mut TestMemory, kind: &str, reply: TestReply, now: u64) -> (Option<RoundOutcome>, Option<String>) {
    let (uid, label) = ("a".to_owned(), label("one"));
    let outcome = memory.answered(&attempt(kind, &uid, &label), reply, now).ok();
    let what = |undone: &Option<RetriedWrite>| Some(undone.as_ref()?.what.clone());
    let fault = match kind {
        "apply" => memory
            .denials
            .get("a")
            .map(|denial| format!("{}: {}", denial.cause, denial.message)),
        "set" => what(&memory.write_denied),
        "evict" => what(&memory.not_evicted),
        _ => what(&memory.not_recreated),
    };
    (outcome, fault)
}

const NOTHING: Option<RoundOutcome> = Some(RoundOutcome::Nothing);
const AGAIN: Option<RoundOutcome> = Some(RoundOutcome::DecideAgain);
const OVERTAKEN: Option<RoundOutcome> = Some(RoundOutcome::Overtaken);

/// A kind of write, the outcome when it is done, and the fault after 30 seconds of conflicts, after a denial, and after one
/// call without an answer.
type Row = (
    &'static str,
    Option<RoundOutcome>,
    &'static str,
    &'static str,
    Option<&'static str>,
);

const ROWS: [Row; 4] = [
    ("apply", AGAIN, "Conflict: 409 no", "Forbidden: no", None),
    ("set", NOTHING, "409 no", "no", None),
    (
        "evict",
        NOTHING,
        "the answer is that it has changed or does not exist, but it is unchanged",
        "no",
        Some("no answer"),
    ),
    (
        "step",
        AGAIN,
        "failed to mark PVC data-web-0: the answer is that it is done, has changed or does not exist, but it is unchanged",
        "failed to mark PVC data-web-0: no",
        Some("failed to mark PVC data-web-0: no answer"),
    ),
];

#[test]
fn each_answer_has_this_consequence() {
    for (kind, done, stuck, refused, unknown) in ROWS {
        let mut memory = TestMemory::default();
        for now in [1000, 1029] {
            assert_eq!(
                answered(&mut memory, kind, overtaken(), now),
                (OVERTAKEN, None),
                "{kind}"
            );
        }
        let expected = (AGAIN, Some(stuck.to_owned()));
        assert_eq!(answered(&mut memory, kind, overtaken(), 1030), expected, "{kind}");
        let mut memory = TestMemory::default();
        let expected = (AGAIN, Some(refused.to_owned()));
        assert_eq!(answered(&mut memory, kind, denied(), 1000), expected, "{kind}");
        let reply = || WriteReply::Done(Some(claim("a", "10")));
        assert_eq!(answered(&mut memory, kind, reply(), 1001), (done, None), "{kind}");
        let mut memory = TestMemory::default();
        let expected = (unknown.and(AGAIN), unknown.map(str::to_owned));
        assert_eq!(answered(&mut memory, kind, unsure(), 1000), expected, "{kind}");
    }
}

/// The watch shows another version: the object has changed.
#[test]
fn write_overtaken_in_each_version_is_no_denial() {
    let mut memory = TestMemory::default();
    for (now, version, expected) in [
        (1000, "7", OVERTAKEN),
        (1030, "8", OVERTAKEN),
        (1059, "8", OVERTAKEN),
        (1060, "8", AGAIN),
    ] {
        let outcome = memory.answered(&AttemptedWrite::Set(version.to_owned()), overtaken(), now);
        assert_eq!(outcome.ok(), expected, "{version} at {now}");
    }
}

#[test]
fn write_without_answer_counts_as_denied_after_a_minute() {
    for (kind, expected) in [("apply", "NotAnswered: no answer"), ("set", "no answer")] {
        let mut memory = TestMemory::default();
        for _ in 0..Refusal::UNANSWERED {
            assert_eq!(answered(&mut memory, kind, unsure(), 1000), (None, None), "{kind}");
        }
        let expected = (AGAIN, Some(expected.to_owned()));
        assert_eq!(answered(&mut memory, kind, unsure(), 1000), expected, "{kind}");
    }
}

/// One call without an answer then counts as denied for no other object.
#[test]
fn any_answer_ends_the_row_of_those_without_one() {
    let undone = || WriteReply::Undone("the annotation staged".to_owned());
    for kind in ["apply", "set"] {
        for (what, reply, expected) in [
            ("no answer", unsure(), true),
            ("changed", overtaken(), false),
            ("denied", denied(), false),
            ("undone", undone(), false),
        ] {
            let mut memory = TestMemory::default();
            for _ in 0..Refusal::UNANSWERED {
                answered(&mut memory, kind, unsure(), 1000);
            }
            answered(&mut memory, kind, reply, 1000);
            let other = WrittenObject::Claim("c".to_owned());
            assert_eq!(memory.is_unanswered(&other), expected, "{kind}: {what}");
        }
    }
}

#[test]
fn write_to_the_set_that_was_undone_is_no_denial() {
    let mut memory = TestMemory::default();
    for attempts in [1, 2] {
        let undone = WriteReply::Undone("the annotation staged".to_owned());
        assert_eq!(answered(&mut memory, "set", undone, 1000), (AGAIN, None));
        let found = memory.undone.as_ref().map(|undone| (&*undone.what, undone.attempts));
        assert_eq!(found, Some(("the annotation staged", attempts)));
    }
    answered(&mut memory, "set", WriteReply::Done(None), 1000);
    assert_eq!(memory.undone, None);
}

/// A webhook drops what a step wrote, or a proxy answers with another object.
#[test]
fn step_that_is_due_again_is_not_done() {
    for (what, uid, first) in [("dropped", "a", AGAIN), ("another object", "b", OVERTAKEN)] {
        let mut memory = TestMemory::default();
        let reply = || WriteReply::Done(Some(claim(uid, "10")));
        assert_eq!(answered(&mut memory, "step", reply(), 1000).0, first, "{what}");
        assert_eq!(answered(&mut memory, "step", reply(), 1029).0, OVERTAKEN, "{what}");
        let (outcome, fault) = answered(&mut memory, "step", reply(), 1030);
        assert_eq!((outcome, fault.is_some()), (AGAIN, true), "{what}");
    }
}

use super::{Remembered, Settled};
use crate::rollout::fixtures::label;
use crate::rollout::machine::fixtures::{OfTests, claim};
use crate::rollout::machine::{AttemptedWrite, RetriedWrite, SetMemory, WriteReply, WrittenObject};

/// What is remembered beside it would be lost.
#[test]
fn settled_memory_with_anything_else_stays_whole() {
    type Change = fn(&mut SetMemory<OfTests>);
    let rows: [(&str, Change); 12] = [
        ("a reply", |memory| memory.applied(claim("a", "10"))),
        ("a ClaimRollout", |memory| memory.rollout = Some(("a", "9"))),
        ("when it was written", |memory| memory.reported_at = Some(5)),
        ("PVCs without room in it", |memory| {
            memory.unlisted.insert(String::new(), Default::default());
        }),
        ("a completion", |memory| memory.ended = Some(("9".to_owned(), 5))),
        ("PVCs that were modified", |memory| {
            memory.modified.insert("a".to_owned(), vec![5]);
        }),
        ("an undone write", |memory| memory.undone = failed()),
        ("a denied write", |memory| memory.write_denied = failed()),
        ("a denied eviction", |memory| memory.not_evicted = failed()),
        ("a denied step", |memory| memory.not_recreated = failed()),
        ("an overtaken write", |memory| {
            memory.overtaken.insert(WrittenObject::Set, ("write".to_owned(), 5));
        }),
        ("a write without an answer", |memory| {
            memory.unanswered.insert(WrittenObject::Set, 1);
        }),
    ];
    for (what, change) in rows {
        let mut known = Remembered::<OfTests>::default();
        known.with(|memory| memory.settle(Settled::since(5, "default", 1)));
        known.with(change);
        assert!(matches!(known, Remembered::Whole(_)), "{what}");
    }
}

fn failed() -> Option<RetriedWrite> {
    Some(RetriedWrite::again(None, "no".to_owned(), 5))
}

#[test]
fn settled_memory_is_small_and_keeps_what_was_shown() {
    let settled = Settled::since(5, "default", 1);
    let mut known = Remembered::<OfTests>::default();
    known.with(|memory| {
        memory.latest(Some(("a", "9")));
        let (uid, version, label) = ("a".to_owned(), "9".to_owned(), label("one"));
        let attempt = AttemptedWrite::Apply {
            uid: &uid,
            version: &version,
            label: &label,
            write: version.clone(),
        };
        drop(memory.answered(&attempt, WriteReply::Done(Some(claim("a", "10"))), 5));
        drop(memory.answered(&attempt, WriteReply::Overtaken(String::new(), String::new()), 5));
        drop(memory.answered(&attempt, WriteReply::Unsure(String::new()), 5));
        let message = "quota".to_owned();
        let denied = WriteReply::Denied {
            cause: "Forbidden".to_owned(),
            message,
            stored: None,
        };
        drop(memory.answered(&attempt, denied, 5));
        memory.waiting_pods.insert("web-0".to_owned(), "u".to_owned());
        memory.modified.insert("a".to_owned(), vec![5]);
        memory.unlisted.insert("data-web-0".to_owned(), Default::default());
        memory.ended = Some(("9".to_owned(), 5));
        memory.reported_at = Some(5);
        memory.write_denied = Some(RetriedWrite::again(None, "no".to_owned(), 5));
    });
    assert!(matches!(known, Remembered::Whole(_)), "it is not settled");
    known.with(|memory| memory.settle(settled));
    assert!(matches!(known, Remembered::Settled(..)), "{known:?}");
    known.with(|memory| memory.failures = 1);
    assert!(matches!(known, Remembered::Whole(_)), "a failure is remembered");
    known.with(|memory| memory.failures = 0);
    assert!(matches!(known, Remembered::Settled(..)), "{known:?}");
    known.with(|memory| memory.asked = Some(7));
    assert!(matches!(known, Remembered::Settled(..)), "a request ends no pause here");
    known.with(|memory| memory.reported(("a", "10"), 6));
    let latest = known.with(|memory| memory.latest(None));
    assert_eq!(latest, None, "it was shown before, so it was deleted");
}

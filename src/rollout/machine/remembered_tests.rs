use super::{Remembered, Settled};
use crate::rollout::fixtures::label;
use crate::rollout::machine::fixtures::{OfTests, claim};
use crate::rollout::machine::{AttemptedWrite, RetriedWrite, WriteReply};

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
    known.with(|memory| memory.reported(("a", "10"), 6));
    let latest = known.with(|memory| memory.latest(None));
    assert_eq!(latest, None, "it was shown before, so it was deleted");
}

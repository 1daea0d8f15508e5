use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::Work;
use crate::controller::replacing::cluster::SetName;
use crate::rollout::fixtures::rows;

const SECOND: Duration = Duration::from_secs(1);

/// A StatefulSet of one letter and a digit: the letter is its namespace.
fn set(name: &str) -> SetName {
    SetName::new(&name[..1], name)
}

/// Everything that may be reconciled now.
fn all(work: &mut Work, now: Instant) -> String {
    let next = std::iter::from_fn(|| work.next(now)).map(|set| set.name.clone());
    next.collect::<Vec<_>>().join(" ")
}

/// What happens, and after each `>` which reconciles begin then. `+a1`: it has changed. `-a1`: its reconcile ends. `-a1@5`:
/// the next one is due after 5 seconds. `@5`: 5 seconds have passed since the begin.
const ROWS: &str = "
    changed twice, reconciled once         | +a1 +a1 > a1; -a1 >
    changed during its reconcile           | +a1 > a1; +a1 +a1 >; -a1 > a1; -a1 >
    due later                              | +a1 > a1; -a1@5 >; @4 >; @5 > a1; -a1 >; @9 >
    changed before it is due               | +a1 > a1; -a1@5 >; +a1 > a1; -a1 >; @9 >
    changed and due later                  | +a1 > a1; +a1 >; -a1@5 > a1; -a1 >; @9 >
    due at once                            | +a1 > a1; -a1@0 > a1
    one namespace has three of four places | +a1 +a2 +a3 +a4 +a5 > a1 a2 a3; +b1 > b1; -a2 > a4; -b1 >; -a1 -a3 -a4 > a5
    four have all places and take turns    | +a1 +a2 +b1 +b2 +c1 +d1 +d2 > a1 b1 c1 d1; -c1 > a2; -d1 > b2; -a1 -a2 > d2
";

#[test]
fn sets_are_reconciled_once_and_in_turn() {
    for [what, steps] in rows(ROWS) {
        let (mut work, begin) = (Work::new(4), Instant::now());
        let mut now = begin;
        for (events, expected) in steps.split(';').filter_map(|step| step.split_once('>')) {
            for event in events.split_whitespace() {
                let (name, after) = event[1..].split_once('@').map_or((&event[1..], None), |(name, after)| {
                    let seconds: u32 = after.parse().unwrap();
                    (name, Some(seconds * SECOND))
                });
                match &event[..1] {
                    "+" => work.changed(set(name)),
                    "-" => work.done(Arc::new(set(name)), after, now),
                    _ => now = begin + name.parse::<u32>().unwrap() * SECOND,
                }
            }
            assert_eq!(all(&mut work, now), expected.trim(), "{what}: {events}");
        }
    }
}

#[test]
fn thousand_sets_of_a_namespace_leave_places_for_others() {
    for (places, most) in [(1, 1), (2, 1), (3, 2), (4, 3), (16, 12)] {
        let (mut work, now) = (Work::new(places), Instant::now());
        for number in 0..1000 {
            work.changed(set(&format!("a{number}")));
        }
        assert_eq!(all(&mut work, now).split_whitespace().count(), most, "{places} places");
        work.changed(set("b1"));
        let begins = if places == most { "" } else { "b1" };
        assert_eq!(all(&mut work, now), begins, "{places} places");
    }
}

#[test]
fn nothing_is_kept_of_a_set_that_rests() {
    let (mut work, now) = (Work::new(4), Instant::now());
    for after in [None, Some(SECOND)] {
        work.changed(set("a1"));
        let begun = work.next(now + SECOND).unwrap();
        work.done(begun, after, now);
        let due = after.map(|after| now + after);
        assert_eq!((work.due(), work.states.len()), (due, after.iter().len()));
    }
    assert_eq!(
        (work.running(), work.running_in.len(), work.waiting.namespaces().next()),
        (0, 0, None)
    );
}

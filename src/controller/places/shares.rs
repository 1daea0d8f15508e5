//! Which StatefulSets get the free places of a storage class.
//!
//! The namespace with the fewest places comes first, so that one with many StatefulSets does not keep another waiting.
//! In a namespace, the StatefulSet with the fewest places comes first. Among equals, the one comes first that has waited
//! for longest.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use crate::api::Seconds;

/// A StatefulSet that waits for places.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiter<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) uid: &'a str,
    /// The places that it has.
    pub(crate) has: u32,
    /// How many more it waits for.
    pub(crate) wants: u32,
    pub(crate) since: Seconds,
}

/// The StatefulSets of one namespace that wait, and the places that the namespace has.
#[derive(Default)]
struct Queue<'a> {
    has: u32,
    sets: BinaryHeap<Reverse<(u32, Seconds, &'a str, u32)>>,
}

/// The uids of those that get the free places, in this order: one for each place. `has` is the number of places of each
/// namespace.
pub(crate) fn shares<'a>(free: u32, waiting: &[Waiter<'a>], has: &BTreeMap<&'a str, u32>) -> Vec<&'a str> {
    let mut queues: BTreeMap<&str, Queue<'a>> = BTreeMap::new();
    for set in waiting.iter().filter(|set| set.wants > 0) {
        let queue = queues.entry(set.namespace).or_default();
        queue.has = has.get(set.namespace).copied().unwrap_or(0);
        queue.sets.push(Reverse((set.has, set.since, set.uid, set.wants)));
    }
    let mut shares = Vec::new();
    for _ in 0..free {
        let next = queues.values_mut().filter_map(|queue| {
            let Reverse((_, since, uid, _)) = *queue.sets.peek()?;
            Some(((queue.has, since, uid), queue))
        });
        let Some((_, queue)) = next.min_by_key(|(key, _)| *key) else {
            break;
        };
        let Some(Reverse((has, since, uid, wants))) = queue.sets.pop() else {
            break;
        };
        shares.push(uid);
        queue.has = queue.has.saturating_add(1);
        if wants > 1 {
            queue.sets.push(Reverse((has.saturating_add(1), since, uid, wants - 1)));
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::{Waiter, shares};
    use crate::rollout::fixtures::rows;

    /// How many are free, the places of the namespaces `a` and `b`, those that wait, and who gets the free places. `a1 0+2 @5`
    /// has no place, wants two, and waits since 5; the letter is its namespace.
    const ROWS: &str = "
        nobody waits                                                  | 3 | 0 0 |                                     |
        nothing is free                                               | 0 | 0 0 | a1 0+1 @5                           |
        one waits                                                     | 3 | 0 0 | a1 0+2 @5                           | a1 a1
        the one that has waited for longest                           | 1 | 0 0 | a1 0+1 @7, a2 0+1 @5                | a2
        many of one namespace, and one of another that comes last     | 2 | 0 0 | a1 0+1 @1, a2 0+1 @2, a3 0+1 @3, b1 0+1 @9 | a1 b1
        the namespace with fewer places, although it waits for less   | 1 | 2 1 | a1 0+1 @1, b1 1+1 @9                | b1
        the rest, when the other namespace has as many                | 3 | 1 0 | a1 0+9 @1, b1 0+1 @9                | b1 a1 a1
        a namespace that has many, while nobody else waits            | 1 | 9 0 | a1 9+1 @1                           | a1
        within a namespace, the one with fewer places                 | 3 | 1 0 | a1 1+5 @1, a2 0+5 @2                | a2 a1 a2
        one that wants none waits no more                             | 1 | 0 0 | a1 0+0 @1, b1 0+1 @2                | b1
    ";

    fn waiter(text: &str) -> Waiter<'_> {
        let [uid, places, since] = text.split_whitespace().collect::<Vec<_>>()[..] else {
            panic!("{text}");
        };
        let (has, wants) = places.split_once('+').unwrap();
        Waiter {
            namespace: &uid[..1],
            uid,
            has: has.parse().unwrap(),
            wants: wants.parse().unwrap(),
            since: since[1..].parse().unwrap(),
        }
    }

    #[test]
    fn free_places_go_to_the_namespace_with_fewest() {
        for [what, free, places, waiting, expected] in rows(ROWS) {
            let places = places.split(' ').map(|places| places.parse().unwrap());
            let has = ["a", "b"].into_iter().zip(places).collect();
            let waiting = waiting.split(", ").filter(|text| !text.is_empty());
            let waiting: Vec<Waiter<'_>> = waiting.map(waiter).collect();
            let found = shares(free.parse().unwrap(), &waiting, &has);
            assert_eq!(found.join(" "), expected, "{what}");
        }
    }
}

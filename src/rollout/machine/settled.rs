//! A settled StatefulSet has nothing left to do: when it is reconciled again, although nothing changes.
//!
//! Whether its PVCs are updated depends also on the PVCs, which are not watched any more. So it is reconciled again every
//! few hours, in case a PVC was created while the policy was not available.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use crate::api::Seconds;

/// The interval of checks without a change.
pub const EVERY: Seconds = 8 * 60 * 60;

/// The minimum time until the first check: a new leader has other work.
pub const QUIET: Seconds = 10 * 60;

/// The state in which nothing was left to do, and when it is checked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Settled<B> {
    pub(crate) basis: B,
    pub(crate) due: Seconds,
}

impl<B: Copy + PartialEq> Settled<B> {
    /// Settled now, for a set of this namespace.
    #[must_use]
    pub fn since(now: Seconds, namespace: &str, basis: B) -> Self {
        let due = now.saturating_add(until_check(namespace, now));
        Self { basis, due }
    }

    /// For how many seconds no reconcile is needed; none if one is needed now.
    #[must_use]
    pub fn rests(&self, now: Seconds, basis: B) -> Option<Seconds> {
        // A clock that was set back by days must not delay the check by days.
        let left = self
            .due
            .checked_sub(now)
            .filter(|left| (1..EVERY + QUIET).contains(left));
        left.filter(|_| self.basis == basis)
    }
}

/// Seconds until the next check of the sets of a namespace. All of them are checked at the same time, which needs one
/// list of PVCs; each namespace has its own time.
fn until_check(namespace: &str, now: Seconds) -> Seconds {
    let mut hasher = DefaultHasher::new();
    namespace.hash(&mut hasher);
    let next = EVERY - now.wrapping_add(hasher.finish() % EVERY) % EVERY;
    if next < QUIET { next + EVERY } else { next }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{EVERY, QUIET, Settled, until_check};

    #[test]
    fn settled_set_rests_until_it_is_due_or_changes() {
        let (basis, other) = (1, 2);
        let due = 1000 + until_check("default", 1000);
        for (why, now, seen, expected) in [
            ("just now", 1000, basis, Some(due - 1000)),
            ("a second before it is due", due - 1, basis, Some(1)),
            ("it is due", due, basis, None),
            ("it has changed", 1001, other, None),
        ] {
            let settled = Settled::since(1000, "default", basis);
            assert_eq!(settled.rests(now, seen), expected, "{why}");
        }
        // The clock was set back by days.
        assert_eq!(Settled::since(9 * EVERY, "default", basis).rests(EVERY, basis), None);
    }

    #[test]
    fn namespaces_are_checked_at_different_times() {
        let at = |namespace: &str, now| now + until_check(namespace, now);
        for now in [0, 1000, 1_800_000_000] {
            let first = at("fleet-1", now);
            assert!((now + QUIET..now + QUIET + EVERY).contains(&first), "{now}");
            for (when, then, expected) in [
                ("before", first - QUIET, first),
                ("shortly before", first - QUIET + 1, first + EVERY),
                ("at that time", first, first + EVERY),
            ] {
                assert_eq!(at("fleet-1", then), expected, "{now}: {when}");
            }
        }
        let minutes: BTreeSet<u64> = (0..1000).map(|index| at(&format!("fleet-{index}"), 0) / 60).collect();
        assert!(minutes.len() > 300, "1,000 namespaces at {} times", minutes.len());
        let rests = |index: &u64| Settled::since(0, &format!("fleet-{index}"), 1).rests(0, 1).is_some();
        assert_eq!((0..1000).filter(rests).count(), 1000, "all of them rest until then");
    }
}

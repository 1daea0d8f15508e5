//! The budget of writes, and who of those that wait is next. A value, without I/O and without a clock.
//!
//! Namespaces take turns. While one namespace uses the whole budget, half of the burst is kept for the others, so that
//! their writes do not wait at all. A namespace may use of that half what it would have at half of the rate.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::time::Duration;

use tokio::time::Instant;

use super::fair::FairQueue;

/// The rate limit of writes, in addition to the priority and fairness of the API server.
///
/// A rollout needs few writes; the limit is for thousands of rollouts that start at once. Reads and the Lease do not
/// count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteBudget {
    /// The average number of writes per second.
    pub per_second: NonZeroU32,
    /// The number of writes at once after an idle time.
    pub burst: NonZeroU32,
}

impl WriteBudget {
    /// The default. kube-controller-manager has 20 and 30 for all of its controllers together.
    pub const DEFAULT: Self = Self {
        per_second: NonZeroU32::new(50).unwrap(),
        burst: NonZeroU32::new(100).unwrap(),
    };

    /// The time in which one write is added.
    fn interval(self) -> Duration {
        Duration::from_secs(1) / self.per_second.get()
    }
}

/// A bucket of writes, full at first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    /// The time in which one write is added.
    interval: Duration,
    /// The time in which an empty bucket becomes full.
    span: Duration,
    full_at: Option<Instant>,
}

impl Bucket {
    pub(crate) fn new(budget: WriteBudget) -> Self {
        let interval = budget.interval();
        Self {
            interval,
            span: interval.saturating_mul(budget.burst.get()),
            full_at: None,
        }
    }

    /// A bucket with half of the rate and half of the burst.
    const fn half(self) -> Self {
        Self {
            interval: self.interval.saturating_mul(2),
            full_at: None,
            ..self
        }
    }

    /// What is kept for other namespaces, as the time in which it is added: half of the burst, but not the only one.
    fn kept(&self) -> Duration {
        (self.span / 2).min(self.span.saturating_sub(self.interval))
    }

    /// The time until one can be taken such that as many are left as are added in the time `kept`.
    fn wait(&self, kept: Duration, now: Instant) -> Duration {
        let lacks = self
            .full_at
            .map_or(Duration::ZERO, |at| at.saturating_duration_since(now));
        (lacks + self.interval + kept).saturating_sub(self.span)
    }

    /// Takes one if it is there. Returns whether it was.
    pub(super) fn try_take(&mut self, now: Instant) -> bool {
        let is_there = self.wait(Duration::ZERO, now).is_zero();
        if is_there {
            self.take(now);
        }
        is_there
    }

    /// Takes one, even if the bucket is empty.
    fn take(&mut self, now: Instant) {
        self.full_at = Some(self.full_at.map_or(now, |at| at.max(now)) + self.interval);
    }

    fn is_full(&self, now: Instant) -> bool {
        self.full_at.is_none_or(|at| at <= now)
    }
}

/// The budget, and those that wait for it.
#[derive(Debug)]
pub(super) struct WriteQueue<T> {
    all: Bucket,
    /// What each namespace that wrote a moment ago may still use of what is kept for others.
    of: HashMap<String, Bucket>,
    waiting: FairQueue<T>,
}

impl<T> WriteQueue<T> {
    pub(crate) fn new(budget: WriteBudget) -> Self {
        Self {
            all: Bucket::new(budget),
            of: HashMap::new(),
            waiting: FairQueue::default(),
        }
    }

    /// Adds one that waits for a write to this namespace.
    pub(crate) fn push(&mut self, namespace: &str, item: T) {
        self.waiting.push(namespace, item);
    }

    /// Who may write now, or how long until somebody may; without a time, nobody waits.
    pub(crate) fn next(&mut self, now: Instant) -> Result<T, Option<Duration>> {
        let (all, of) = (self.all, &self.of);
        let half = all.half();
        let wait = |namespace: &str| {
            let own = of.get(namespace).unwrap_or(&half).wait(Duration::ZERO, now);
            let within_own = own.max(all.wait(Duration::ZERO, now));
            within_own.min(all.wait(all.kept(), now))
        };
        let Some((namespace, item)) = self.waiting.pop(|namespace| wait(namespace).is_zero()) else {
            return Err(self.waiting.namespaces().map(wait).min());
        };
        self.all.take(now);
        self.of.retain(|_, bucket| !bucket.is_full(now));
        // It may be empty: not all of the budget is kept for others.
        let _ = self.of.entry(namespace).or_insert(half).try_take(now);
        Ok(item)
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{Bucket, WriteBudget, WriteQueue};

    const BUDGET: WriteBudget = WriteBudget {
        per_second: NonZeroU32::new(10).unwrap(),
        burst: NonZeroU32::new(8).unwrap(),
    };

    #[test]
    fn bucket_has_its_burst_and_then_its_rate() {
        let (mut bucket, begun) = (Bucket::new(BUDGET), Instant::now());
        let mut taken = Vec::new();
        for tenths in 0..12 {
            let now = begun + Duration::from_millis(100) * tenths;
            taken.push((0..20).filter(|_| bucket.try_take(now)).count());
        }
        assert_eq!(taken, [8, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
        let later = begun + Duration::from_secs(100);
        assert_eq!((0..20).filter(|_| bucket.try_take(later)).count(), 8);
    }

    /// Which namespaces ask for a write in each tenth of a second, and which get one.
    const ROWS: &[(&str, &[&str], &[&str])] = &[
        ("nobody writes", &["", "", ""], &["", "", ""]),
        (
            "one namespace has half of the burst and then the whole rate",
            &["aaaaaaaaaaaaaaaa", "", "", "", ""],
            &["aaaa", "a", "a", "a", "a"],
        ),
        (
            "another one beside it does not wait",
            &["aaaaaaaaaaaaaaaa", "b", "", "bb", "", "b"],
            &["aaaa", "ab", "a", "bb", "a", "b"],
        ),
        (
            "three that write as much as they can take turns",
            &["aaaaaaaaaaaa", "bbbbbbbbbb", "cccccccccc", "", "", "", "", ""],
            &["aaaa", "abbbb", "a", "b", "c", "a", "b", "c"],
        ),
    ];

    #[test]
    fn namespaces_take_turns_within_the_budget() {
        for (what, asked, expected) in ROWS {
            let (mut queue, begun) = (WriteQueue::new(BUDGET), Instant::now());
            for (tenths, (asked, expected)) in (0..).zip(asked.iter().zip(*expected)) {
                let now = begun + Duration::from_millis(100) * tenths;
                for namespace in asked.chars() {
                    queue.push(&namespace.to_string(), namespace);
                }
                let written: String = std::iter::from_fn(|| queue.next(now).ok()).collect();
                assert_eq!(written, *expected, "{what}: after {tenths} tenths of a second");
            }
        }
    }

    /// Twenty writes per second, of a budget of fifty.
    #[test]
    fn writes_of_a_namespace_never_delay_few_of_another() {
        let (mut queue, begun) = (WriteQueue::new(WriteBudget::DEFAULT), Instant::now());
        for _ in 0..10_000 {
            queue.push("many", false);
        }
        let mut others = 0;
        for millis in 0..10_000 {
            let now = begun + Duration::from_millis(1) * millis;
            while let Ok(is_other) = queue.next(now) {
                assert!(!is_other, "it had to wait");
            }
            if millis % 50 == 0 {
                queue.push("few", true);
                assert_eq!(queue.next(now), Ok(true), "after {millis} ms");
                others += 1;
            }
        }
        assert_eq!(others, 200);
        let left = std::iter::from_fn(|| queue.waiting.pop(|_| true)).count();
        // All of the rate was used, and half of the burst.
        assert!((10_000 - left + others).abs_diff(500 + 50) <= 2, "{left} are left");
    }

    #[test]
    fn smallest_budget_is_used_by_one_namespace() {
        let (mut queue, begun) = (
            WriteQueue::new(WriteBudget {
                burst: NonZeroU32::MIN,
                ..BUDGET
            }),
            Instant::now(),
        );
        for tenths in 0..5 {
            queue.push("one", tenths);
            let now = begun + Duration::from_millis(100) * tenths;
            assert_eq!(queue.next(now), Ok(tenths));
            assert_eq!(queue.next(now), Err(None));
        }
    }

    #[test]
    fn queue_forgets_namespaces_and_states_when_to_ask() {
        let (mut queue, begun) = (WriteQueue::new(BUDGET), Instant::now());
        assert_eq!(queue.next(begun), Err(None));
        for name in 0..9 {
            queue.push(&name.to_string(), name);
        }
        assert_eq!(std::iter::from_fn(|| queue.next(begun).ok()).count(), 8);
        assert_eq!(queue.next(begun), Err(Some(Duration::from_millis(100))));
        assert_eq!(queue.of.len(), 8);
        assert_eq!(queue.next(begun + Duration::from_secs(9)), Ok(8));
        assert_eq!(queue.of.len(), 1);
    }
}

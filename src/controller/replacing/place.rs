//! The places of replacements: gives them to those whose turn it is.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};

use super::cluster::SetName;
use super::turns::Turns;
use crate::controller::locking::lock;
use crate::controller::metrics::controller::ControllerMetrics;
use crate::controller::metrics::replacements::ReplacementTimer;
use crate::replace::{Fault, Millis, PauseCause};

/// The pause while a reconcile of the set ends.
const RECONCILING: Duration = Duration::from_millis(50);

/// How often a replacement that waits checks whether it may begin: with time, it may try the garbage collector.
const CHECK: Duration = Duration::from_secs(5);

/// The places of all replacements.
pub(super) struct Places {
    clock: fn() -> Millis,
    metrics: Arc<ControllerMetrics>,
    shared: Mutex<Shared>,
    /// A replacement has ended.
    ended: Notify,
}

#[derive(Default)]
struct Shared {
    turns: Turns,
    waiting: HashMap<SetName, oneshot::Sender<()>>,
    closed: bool,
}

impl Places {
    pub(super) fn new(clock: fn() -> Millis, metrics: Arc<ControllerMetrics>) -> Self {
        let (shared, ended) = (Mutex::default(), Notify::new());
        Self {
            clock,
            metrics,
            shared,
            ended,
        }
    }

    /// Nobody waits for a place any more. Returns when all replacements have ended.
    pub(super) async fn close(&self) {
        {
            let mut shared = lock(&self.shared);
            shared.closed = true;
            shared.waiting.clear();
        }
        loop {
            let ended = self.ended.notified();
            if lock(&self.shared).turns.is_empty() {
                return;
            }
            ended.await;
        }
    }

    /// Changes the turns, and notifies those whose turn it is now.
    fn change<T>(&self, change: impl FnOnce(&mut Turns, Millis) -> T) -> T {
        let mut shared = lock(&self.shared);
        let now = (self.clock)();
        let changed = change(&mut shared.turns, now);
        for set in shared.turns.admit(now) {
            if let Some(waiting) = shared.waiting.remove(&set) {
                let _ = waiting.send(());
            }
        }
        let (places, waiting) = shared.turns.counts();
        self.metrics.replacements().queued(places, waiting);
        changed
    }

    /// Asks for a place. Returns what notifies the replacement of its turn, unless it has a place.
    fn ask(&self, set: &SetName, begun: bool) -> Option<oneshot::Receiver<()>> {
        self.change(|turns, _| turns.ask(set, begun));
        let mut shared = lock(&self.shared);
        if shared.closed || shared.turns.has_place(set) {
            return None;
        }
        let (sender, granted) = oneshot::channel();
        shared.waiting.insert(set.clone(), sender);
        Some(granted)
    }
}

/// The place of one replacement, which takes it and gives it back. One that is executed by hand needs none.
pub(super) struct RunPlace<'a> {
    of: Option<(&'a Places, &'a SetName)>,
    /// Notes that the set is being replaced. Returns false while it is reconciled.
    begins: Option<Begins<'a>>,
    /// Counts the replacement from its first step.
    timer: Option<ReplacementTimer>,
}

/// See [`RunPlace`].
pub(super) type Begins<'a> = Box<dyn Fn() -> bool + Send + Sync + 'a>;

impl<'a> RunPlace<'a> {
    /// That of a replacement which has begun already, or begins with this.
    pub(super) fn of(places: &'a Places, set: &'a SetName, begins: Option<Begins<'a>>) -> Self {
        // It counts from now on: `close` waits for it.
        places.change(|turns, _| turns.needs_none(set));
        Self {
            of: Some((places, set)),
            timer: begins.is_none().then(|| places.metrics.replacements().begin()),
            begins,
        }
    }

    #[cfg(feature = "cli")]
    pub(super) const fn by_hand() -> Self {
        Self {
            of: None,
            begins: None,
            timer: None,
        }
    }

    /// Waits for a place; a set that is absent needs none. Reports why the replacement must not begin.
    pub(super) async fn take(&self, begun: bool, is_absent: bool, report: impl Fn(Fault)) {
        let Some((places, set)) = self.of else {
            return;
        };
        if is_absent {
            places.change(|turns, _| turns.needs_none(set));
            return;
        }
        while let Some(granted) = places.ask(set, begun) {
            if let Some(fault) = places.change(|turns, now| turns.prevented(set, now)) {
                report(fault);
            }
            // An error means that the controller stops.
            if tokio::time::timeout(CHECK, granted).await.is_ok() {
                return;
            }
        }
    }

    /// The first step follows. Nothing else writes to the set from now on. Returns false if a reconcile does that now.
    pub(super) async fn begins(&mut self) -> bool {
        if let Some(begins) = &self.begins {
            if !begins() {
                tokio::time::sleep(RECONCILING).await;
                return false;
            }
            self.begins = None;
        }
        if let Some((places, set)) = self.of.filter(|_| self.timer.is_none()) {
            places.change(|turns, _| turns.begins(set));
            self.timer = Some(places.metrics.replacements().begin());
        }
        true
    }

    /// Gives the place back if this pause is a long one.
    pub(super) fn pauses(&self, cause: &PauseCause) {
        if let Some((places, set)) = self.of {
            places.change(|turns, now| turns.pauses(set, cause, now));
        }
    }
}

impl Drop for RunPlace<'_> {
    fn drop(&mut self) {
        if let Some((places, set)) = self.of {
            lock(&places.shared).waiting.remove(set);
            places.change(|turns, _| turns.ends(set));
            places.ended.notify_waiters();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::Arc;
    use std::time::Duration;

    use futures::FutureExt as _;

    use super::{Places, RunPlace, SetName};

    /// The controller then stops.
    #[tokio::test]
    async fn places_are_closed_when_the_last_replacement_ends() {
        let (places, set) = (Places::new(|| 0, Arc::default()), SetName::new("shop", "web"));
        let place = RunPlace::of(&places, &set, None);
        let mut closed = pin!(places.close());
        assert!(closed.as_mut().now_or_never().is_none(), "one is left");
        drop(place);
        let closed = tokio::time::timeout(Duration::from_secs(60), closed).await;
        assert!(closed.is_ok());
    }
}

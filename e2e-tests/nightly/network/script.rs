//! The faults that the network is to inject, and how many it has injected.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::asked::Asked;

/// A fault of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Not passed on; answered with this code, and with `Retry-After` in seconds unless it is 0.
    Answer(u16, u32),
    /// Not passed on; the connection is closed.
    Lost,
    /// Not passed on, and never answered.
    Unheard,
    /// Executed; the connection is closed instead of an answer.
    ReplyLost,
    /// Executed, and never answered.
    ReplyUnheard,
    /// Executed; the answer is half of its JSON.
    ReplyHalf,
    /// Executed; the connection is closed in the middle of the answer.
    ReplyCut,
    /// Passed on after a delay between these two numbers of milliseconds, and answered after another one.
    Slow(u64, u64),
    /// Passed on after this many milliseconds, if the client still waits.
    Late(u64),
}

/// The requests that a rule matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum To {
    /// Requests of one kind.
    Only(Asked),
    /// All writes except those of the Lease.
    Writes,
    /// All requests.
    All,
}

impl To {
    fn means(self, asked: Asked) -> bool {
        match self {
            Self::Only(kind) => asked == kind,
            Self::Writes => asked.is_write(),
            Self::All => true,
        }
    }
}

/// A fault, and the requests that it happens to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) to: To,
    /// The number of matching requests that pass first.
    pub(super) after: u32,
    /// The number of matching requests with the fault.
    pub(super) times: u32,
    pub(super) fault: Fault,
}

impl Rule {
    /// A fault that happens again and again.
    pub(super) const fn always(asked: Asked, fault: Fault) -> Self {
        Self {
            to: To::Only(asked),
            after: 0,
            times: u32::MAX,
            fault,
        }
    }
}

/// The faults of watches, both open and future ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Streams {
    /// The delay of each event.
    pub(super) delay: Duration,
    /// No event is sent, and no end.
    pub(super) silent: bool,
    /// No bookmark is sent.
    pub(super) without_bookmarks: bool,
    /// Each increment ends the open watches in the middle of an event.
    pub(super) cuts: u32,
    /// Each increment ends the open watches with the error 410.
    pub(super) expired: u32,
}

/// The faults to inject.
pub(super) struct Script {
    inner: Mutex<Inner>,
    streams: watch::Sender<Streams>,
}

#[derive(Default)]
struct Inner {
    rules: Vec<Rule>,
    injected: u32,
    /// The kinds of all requests, in order.
    asked: Vec<Asked>,
}

impl Script {
    /// A script without faults.
    pub(super) fn new() -> Self {
        Self {
            inner: Mutex::default(),
            streams: watch::Sender::new(Streams::default()),
        }
    }

    /// Adds a rule. Previous rules take precedence.
    pub(super) fn add(&self, rule: Rule) {
        self.lock().rules.push(rule);
    }

    /// Changes the faults of watches.
    pub(super) fn streams(&self, change: impl FnOnce(&mut Streams)) {
        self.streams.send_modify(change);
    }

    /// The faults of watches, and their changes.
    pub(super) fn watch_streams(&self) -> watch::Receiver<Streams> {
        self.streams.subscribe()
    }

    /// Removes all faults.
    pub(super) fn clear(&self) {
        self.lock().rules.clear();
        self.streams(|streams| {
            *streams = Streams {
                cuts: streams.cuts,
                expired: streams.expired,
                ..Streams::default()
            };
        });
    }

    /// Counts a request, and returns its number and its fault.
    pub(super) fn on(&self, asked: Asked) -> (u64, Option<Fault>) {
        let mut inner = self.lock();
        inner.asked.push(asked);
        let number = inner.asked.len() as u64;
        let mut fault = None;
        for rule in inner.rules.iter_mut().filter(|rule| rule.to.means(asked)) {
            if rule.after > 0 {
                rule.after -= 1;
            } else if rule.times > 0 && fault.is_none() {
                rule.times -= 1;
                fault = Some(rule.fault);
            }
        }
        inner.injected += u32::from(fault.is_some());
        (number, fault)
    }

    /// The number of requests that had a fault.
    pub(super) fn injected(&self) -> u32 {
        self.lock().injected
    }

    /// The number of requests of this kind.
    pub(super) fn count(&self, asked: Asked) -> usize {
        self.lock().asked.iter().filter(|kind| **kind == asked).count()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

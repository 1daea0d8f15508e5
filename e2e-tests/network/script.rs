//! What the network is to do wrong, and how often it has.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;

use super::asked::Asked;

/// What becomes of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// It is not passed on, and answered by this code; with so many seconds in `Retry-After`, if there are any.
    Answer(u16, u32),
    /// It is not passed on, and its connection is closed.
    Lost,
    /// It is not passed on, and never answered.
    Unheard,
    /// It is carried out, and its connection is closed instead of an answer.
    ReplyLost,
    /// It is carried out, and never answered.
    ReplyUnheard,
    /// It is carried out, and the answer is half of its JSON.
    ReplyHalf,
    /// It is carried out, and the connection is closed in the middle of the answer.
    ReplyCut,
    /// It is passed on after between so many and so many milliseconds, and answered after as many again.
    Slow(u64, u64),
    /// It is passed on after so many milliseconds, if somebody still waits for it.
    Late(u64),
}

/// Which requests are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum To {
    /// Those of one kind.
    Only(Asked),
    /// All writes but those of the Lease.
    Writes,
    /// All.
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

/// What is to happen to which requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) to: To,
    /// So many of them pass before.
    pub(super) after: u32,
    /// So many of them are struck.
    pub(super) times: u32,
    pub(super) fault: Fault,
}

/// What happens to the answers of watches, those that are open and those to come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Streams {
    /// Each event comes so much later.
    pub(super) delay: Duration,
    /// No event comes, and no end.
    pub(super) silent: bool,
    /// No bookmark comes.
    pub(super) without_bookmarks: bool,
    /// The watches that are open when this is counted up end in the middle of an event.
    pub(super) cuts: u32,
    /// The watches that are open when this is counted up end with an error: 410.
    pub(super) gone: u32,
}

/// What the network is told to do wrong.
pub(super) struct Script {
    inner: Mutex<Inner>,
    streams: watch::Sender<Streams>,
}

#[derive(Default)]
struct Inner {
    rules: Vec<Rule>,
    struck: u32,
    /// What was asked, in this order.
    asked: Vec<Asked>,
}

impl Script {
    /// Nothing goes wrong.
    pub(super) fn new() -> Self {
        Self {
            inner: Mutex::default(),
            streams: watch::Sender::new(Streams::default()),
        }
    }

    /// From now on this happens as well, to what none of those before happens to.
    pub(super) fn add(&self, rule: Rule) {
        self.lock().rules.push(rule);
    }

    /// From now on this happens to watches.
    pub(super) fn streams(&self, change: impl FnOnce(&mut Streams)) {
        self.streams.send_modify(change);
    }

    /// What happens to watches, now and later.
    pub(super) fn watch_streams(&self) -> watch::Receiver<Streams> {
        self.streams.subscribe()
    }

    /// From now on nothing goes wrong.
    pub(super) fn clear(&self) {
        self.lock().rules.clear();
        self.streams(|streams| {
            *streams = Streams {
                cuts: streams.cuts,
                gone: streams.gone,
                ..Streams::default()
            };
        });
    }

    /// Takes note of a request, and says which one it is and what is to happen to it.
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
        inner.struck += u32::from(fault.is_some());
        (number, fault)
    }

    /// How many requests something has happened to.
    pub(super) fn struck(&self) -> u32 {
        self.lock().struck
    }

    /// How many requests of this kind there have been.
    pub(super) fn count(&self, asked: Asked) -> usize {
        self.lock().asked.iter().filter(|kind| **kind == asked).count()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

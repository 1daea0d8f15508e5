//! What a controller sees: what was stored at some time, for each kind at another time.
//!
//! A watch delivers all that has happened to a kind at once. Because that may come at any step, a view may be as old as
//! it likes (delay), may never show what was there for a while (coalescing, a change that nobody observes, a set that was
//! deleted and made again), and kinds may overtake each other. A travel back in time is the only thing that needs the past.

use super::api::Api;
use super::objects::{Claims, Pods, Report, Set};

/// What is watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Sets,
    Claims,
    Pods,
    Reports,
}

impl Kind {
    /// Every kind.
    pub(crate) const ALL: [Self; 4] = [Self::Sets, Self::Claims, Self::Pods, Self::Reports];
}

/// What is seen.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Views {
    pub(crate) set: Option<Set>,
    /// Another set is seen beside ours.
    pub(crate) sibling: bool,
    pub(crate) claims: Claims,
    pub(crate) pods: Pods,
    /// Pods of others are seen on these claims.
    pub(crate) strangers: u16,
    pub(crate) report: Option<Report>,
    /// What the quota leaves, if there is one: read by whoever looks, and not watched.
    pub(crate) room: Option<u8>,
}

impl Views {
    /// Everything, as it is.
    pub(crate) fn of(api: &Api) -> Self {
        Self {
            set: api.set,
            sibling: api.sibling,
            claims: api.claims.clone(),
            pods: api.pods.clone(),
            strangers: api.strangers,
            report: api.report,
            room: api.room(),
        }
    }

    /// Brings one kind up to what is stored; true if that shows anything new.
    pub(crate) fn deliver(&mut self, api: &Api, kind: Kind) -> bool {
        let before = self.clone();
        match kind {
            Kind::Sets => (self.set, self.sibling) = (api.set, api.sibling),
            Kind::Claims => self.claims = api.claims.clone(),
            Kind::Pods => (self.pods, self.strangers) = (api.pods.clone(), api.strangers),
            Kind::Reports => self.report = api.report,
        }
        before != *self
    }
}

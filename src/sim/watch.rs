//! The view of a controller: each kind as it was stored at some time in the past.
//!
//! A watch delivers all changes of a kind at once. Because a delivery may come at any step, a view may be arbitrarily
//! old (delay), may miss intermediate states (coalescing, unobserved changes, a set that was deleted and created
//! again), and kinds may overtake each other. Only a read from an API server that is behind needs the past.

use super::api::Api;
use super::objects::{ClaimsBySlot, PodsByOrdinal, ReportObject, SetObject};

/// The watched kinds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum WatchKind {
    Sets,
    Claims,
    Pods,
    Reports,
}

impl WatchKind {
    /// All kinds.
    pub(crate) const ALL: [Self; 4] = [Self::Sets, Self::Claims, Self::Pods, Self::Reports];
}

/// The view of a controller.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Views {
    pub(crate) set: Option<SetObject>,
    /// A sibling exists.
    pub(crate) sibling: bool,
    pub(crate) claims: ClaimsBySlot,
    pub(crate) pods: PodsByOrdinal,
    /// Claims that foreign Pods mount, by slot.
    pub(crate) foreign_mounts: u16,
    pub(crate) report: Option<ReportObject>,
}

impl Views {
    /// The current objects.
    pub(crate) fn of(api: &Api) -> Self {
        Self {
            set: api.set,
            sibling: api.sibling,
            claims: api.claims.clone(),
            pods: api.pods.clone(),
            foreign_mounts: api.foreign_mounts,
            report: api.report,
        }
    }

    /// Delivers one kind; true if that shows anything new.
    pub(crate) fn deliver(&mut self, api: &Api, kind: WatchKind) -> bool {
        let before = self.clone();
        match kind {
            WatchKind::Sets => (self.set, self.sibling) = (api.set, api.sibling),
            WatchKind::Claims => self.claims = api.claims.clone(),
            WatchKind::Pods => (self.pods, self.foreign_mounts) = (api.pods.clone(), api.foreign_mounts),
            WatchKind::Reports => self.report = api.report,
        }
        before != *self
    }
}

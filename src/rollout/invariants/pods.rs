//! Past states of the Pods of a set. A view may still show each of them, and two views may be of different times.

use super::facts::PodFacts;
use super::marks::mark;

/// Past states of the Pods, by index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct PodsSeen {
    /// Pods that did not exist, or were being deleted.
    pub(super) absent: u128,
    /// Pods that existed and were not Ready.
    pub(super) unready: u128,
}

impl PodsSeen {
    /// Marks the present state of a Pod.
    pub(super) fn observe(&mut self, pod: Option<&PodFacts>, place: u128) {
        let pod = pod.filter(|pod| !pod.going);
        mark(&mut self.absent, place, pod.is_none());
        mark(&mut self.unready, place, pod.is_some_and(|pod| !pod.ready));
    }
}

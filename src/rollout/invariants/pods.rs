//! What has been of the Pods of a set. A view may still show each of it, and two views may be of different times.

use super::facts::PodFacts;
use super::marks::mark;

/// What has been of the Pods, by index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct PodsSeen {
    /// Those that have not been there, or were on their way out.
    pub(super) gone: u128,
    /// Those that have been there and not Ready.
    pub(super) unready: u128,
}

impl PodsSeen {
    /// Takes down what there is of a Pod.
    pub(super) fn observe(&mut self, pod: Option<&PodFacts>, place: u128) {
        let pod = pod.filter(|pod| !pod.going);
        mark(&mut self.gone, place, pod.is_none());
        mark(&mut self.unready, place, pod.is_some_and(|pod| !pod.ready));
    }
}

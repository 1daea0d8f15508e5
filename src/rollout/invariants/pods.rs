//! What has been of the Pods of a set. A view may still show each of it, and two views may be of different times.

use super::facts::{Id, PodFacts};
use super::marks::mark;

/// What has been of the Pods, by index.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct PodsSeen {
    /// Those that have not been there, or were on their way out.
    pub(super) gone: u128,
    /// Those that have been there and not Ready.
    pub(super) unready: u128,
    /// The last revisions, the set's present one first. Pods that go back to one may be seen as they were at it the first
    /// time.
    revisions: [Option<AtRevision>; 4],
    /// Those that have been at any other revision than these.
    elsewhere: u128,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct AtRevision {
    revision: Id,
    /// Those that have been at it.
    run: u128,
    /// And Ready, whatever the set's was then.
    over: u128,
}

impl AtRevision {
    const fn of(revision: Id) -> Self {
        let (run, over) = (0, 0);
        Self { revision, run, over }
    }
}

impl PodsSeen {
    /// The set's Pods are to be at this revision.
    pub(super) fn turn_to(&mut self, revision: Id) {
        let known = |at: &Option<AtRevision>| at.is_none_or(|at| at.revision == revision);
        let place = self.revisions.iter().position(known);
        let forgotten = self.revisions[3].filter(|_| place.is_none());
        mark(&mut self.elsewhere, forgotten.map_or(0, |at| at.run), true);
        let at = place.and_then(|place| self.revisions[place]);
        self.revisions[..=place.unwrap_or(3)].rotate_right(1);
        self.revisions[0] = Some(at.unwrap_or(AtRevision::of(revision)));
    }

    /// Takes down what there is of a Pod.
    pub(super) fn observe(&mut self, pod: Option<&PodFacts>, place: u128) {
        mark(&mut self.gone, place, pod.is_none_or(|pod| pod.going));
        let Some(pod) = pod else {
            return;
        };
        mark(&mut self.unready, place, !pod.ready);
        match self.at(pod.revision) {
            Some(at) => {
                mark(&mut at.run, place, true);
                mark(&mut at.over, place, pod.ready);
            }
            None => mark(&mut self.elsewhere, place, true),
        }
    }

    /// What has been of the Pods at a revision, if there is room for it.
    fn at(&mut self, revision: Id) -> Option<&mut AtRevision> {
        let known = |at: &&mut Option<AtRevision>| at.is_none_or(|at| at.revision == revision);
        let place = self.revisions.iter_mut().find(known)?;
        Some(place.get_or_insert(AtRevision::of(revision)))
    }
}

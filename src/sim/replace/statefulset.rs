//! The StatefulSet controller: it acts on what it sees, which may be of any age. Its view of Pods is at worst as old as
//! that of the StatefulSet; before it adopts, it reads the StatefulSet from the API server.

use super::objects::{CLAIM, Dependent, OTHER_BYTES, PLACES, POD, REVISION, SmallSet};
use super::world::ReplaceWorld;

impl ReplaceWorld {
    /// The watch of StatefulSets catches up.
    pub(super) fn watch_set(&mut self) {
        self.seen = self.set;
    }

    /// The watch of ControllerRevisions catches up.
    pub(super) fn watch_revisions(&mut self) {
        self.seen_revisions = self.owners_of_revisions();
    }

    pub(super) fn owners_of_revisions(&self) -> [Option<u8>; PLACES] {
        self.dependents[REVISION].map(|revision| revision.map(|revision| revision.owner))
    }

    /// One sync.
    pub(super) fn sync(&mut self) {
        let Some(set) = self.seen.filter(|set| !set.terminating) else {
            return;
        };
        let adopts = self.set.is_some_and(|live| live.uid == set.uid && !live.terminating);
        let update = self.update_revision(&set);
        if adopts {
            for kind in [POD, REVISION] {
                let orphans = self.dependents[kind].iter_mut().flatten().filter(|one| one.owner == 0);
                orphans.for_each(|orphan| orphan.own(set.uid));
            }
        }
        self.fix_claims(&set);
        self.scale(&set, update);
        self.update_pods(&set, update);
        let seen = (set.uid, set.version);
        self.change_version(seen, |live| (live.observed, live.revision) = (set.generation, update));
    }

    /// The number of the ControllerRevision for the Pod template. Without one that it sees, the controller creates it; if
    /// it exists, that is the one.
    fn update_revision(&mut self, set: &SmallSet) -> u8 {
        let seen = self.seen_revisions;
        let sees = |place: usize| seen[place].is_some_and(|owner| owner == 0 || owner == set.uid);
        let place = match set.image {
            0 if sees(OTHER_BYTES) => OTHER_BYTES,
            0 if !sees(0) && self.surroundings.other_bytes => OTHER_BYTES,
            image => usize::from(image),
        };
        self.dependents[REVISION][place].get_or_insert(Dependent {
            owner: set.uid,
            known: false,
            revision: 0,
            first: false,
        });
        u8::try_from(place + 1).unwrap_or(0)
    }

    /// The owners of the PVCs of Pods; those of PVCs without a Pod stay.
    fn fix_claims(&mut self, set: &SmallSet) {
        for place in 0..PLACES {
            let has_pod = self.dependents[POD][place].is_some();
            let Some(claim) = self.dependents[CLAIM][place].as_mut().filter(|_| has_pod) else {
                continue;
            };
            match set.deletes_claims {
                true if claim.owner == 0 => claim.own(set.uid),
                false if claim.owner == set.uid => claim.orphan(),
                _ => {}
            }
        }
    }

    fn scale(&mut self, set: &SmallSet, revision: u8) {
        for place in 0..PLACES {
            let pod = &mut self.dependents[POD][place];
            if place >= usize::from(set.replicas) {
                pod.take_if(|pod| pod.owner == set.uid);
                continue;
            }
            let later = Dependent {
                owner: set.uid,
                known: false,
                revision,
                first: false,
            };
            pod.get_or_insert(later);
            self.dependents[CLAIM][place].get_or_insert(Dependent { owner: 0, ..later });
        }
    }

    /// Restarts the Pods that the partition does not keep.
    fn update_pods(&mut self, set: &SmallSet, revision: u8) {
        let pods = self.dependents[POD].iter_mut().enumerate().skip(set.partition.into());
        for (_, pod) in pods.filter(|(place, _)| *place < usize::from(set.replicas)) {
            let is_old = |pod: &&mut Dependent| pod.owner == set.uid && pod.revision != revision;
            if let Some(pod) = pod.as_mut().filter(is_old) {
                self.truth.restarted |= pod.first && self.truth.image == 0;
                pod.own(set.uid);
                (pod.revision, pod.first) = (revision, false);
            }
        }
    }
}

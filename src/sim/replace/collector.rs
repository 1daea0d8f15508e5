//! The garbage collector, with a graph of its own.
//!
//! It removes references in one pass over the graph. A reference that the graph does not have yet survives the pass, and
//! when the owner does not exist any more, the object is deleted (kubernetes#131284).

use super::objects::Dependent;
use super::world::ReplaceWorld;

impl ReplaceWorld {
    /// The graph catches up.
    pub(super) fn learn(&mut self) {
        self.dependents
            .iter_mut()
            .flatten()
            .flatten()
            .for_each(|one| one.known = true);
    }

    /// The graph catches up with ClaimRollouts. Kinds of others are discovered up to 30 seconds later.
    pub(super) fn learn_report(&mut self) {
        self.report.iter_mut().for_each(|report| report.known = true);
    }

    /// A pass for a StatefulSet that is deleted without its dependents.
    pub(super) fn orphan_dependents(&mut self) {
        let Some(set) = self.set.filter(|set| set.orphan) else {
            return;
        };
        let has = |one: &&mut Dependent| one.known && one.owner == set.uid;
        self.all_dependents().flatten().filter(has).for_each(Dependent::orphan);
        self.change(|set| set.orphan = false);
    }

    /// A StatefulSet that is deleted after its dependents.
    pub(super) fn delete_in_foreground(&mut self) {
        let Some(set) = self.set.filter(|set| set.foreground) else {
            return;
        };
        // Before we have seen it, which takes longer than that in a cluster: no trace of the DELETE is left.
        self.truth.deleted &= !set.ours || set.uid != 1;
        self.drop_dependents(|one| one.owner == set.uid);
        self.change(|set| set.foreground = false);
    }

    /// Deletes the dependents whose owner does not exist.
    pub(super) fn collect(&mut self) {
        let live = self.set.map_or(0, |set| set.uid);
        self.drop_dependents(|one| one.known && one.owner != 0 && one.owner != live);
    }

    pub(super) fn drop_dependents(&mut self, is_such: impl Fn(&Dependent) -> bool) {
        for place in self.all_dependents() {
            place.take_if(|one| is_such(one));
        }
    }
}

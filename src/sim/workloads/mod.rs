//! All workloads.

mod changes;
mod obstacles;

use crate::sim::workload::Workload;
use changes::CHANGES;
use obstacles::OBSTACLES;

/// All workloads. A seed chooses one by its index, so the order is fixed.
pub(crate) const ALL: &[Workload] = &all();

const fn all() -> [Workload; CHANGES.len() + OBSTACLES.len()] {
    let mut all = [CHANGES[0]; CHANGES.len() + OBSTACLES.len()];
    let mut place = 0;
    while place < all.len() {
        all[place] = if place < CHANGES.len() {
            CHANGES[place]
        } else {
            OBSTACLES[place - CHANGES.len()]
        };
        place += 1;
    }
    all
}

impl Workload {
    /// The workload with this name.
    pub(crate) fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|workload| workload.name == name)
    }
}

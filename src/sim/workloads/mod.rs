//! All workloads.

mod changes;
mod limits;
mod new_claims;
mod obstacles;
mod returns;

use crate::sim::workload::Workload;
use changes::CHANGES;
use limits::LIMITS;
use new_claims::NEW_CLAIMS;
use obstacles::OBSTACLES;
use returns::RETURNS;

/// All workloads. A seed chooses one by its index, so the order is fixed.
pub(crate) const ALL: &[Workload] = &all();

const OF_LIMITS: usize = CHANGES.len() + OBSTACLES.len();
const OF_NEW_CLAIMS: usize = OF_LIMITS + LIMITS.len();
const OF_RETURNS: usize = OF_NEW_CLAIMS + NEW_CLAIMS.len();

const fn all() -> [Workload; OF_RETURNS + RETURNS.len()] {
    let mut all = [CHANGES[0]; OF_RETURNS + RETURNS.len()];
    let mut place = 0;
    while place < all.len() {
        all[place] = if place < CHANGES.len() {
            CHANGES[place]
        } else if place < OF_LIMITS {
            OBSTACLES[place - CHANGES.len()]
        } else if place < OF_NEW_CLAIMS {
            LIMITS[place - OF_LIMITS]
        } else if place < OF_RETURNS {
            NEW_CLAIMS[place - OF_NEW_CLAIMS]
        } else {
            RETURNS[place - OF_RETURNS]
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

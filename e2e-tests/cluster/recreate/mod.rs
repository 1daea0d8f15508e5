//! `update-policy: ReCreate`: PVCs that cannot follow in place are deleted and created anew, one replica at a time.

mod aborted;
mod complete;
mod snapshots;
mod stopped;
pub(crate) mod trial;
mod waits;

use crate::world::World;
use crate::world::runner::scenarios;

scenarios![World;
    complete::class_is_changed_one_replica_after_the_other,
    waits::nothing_is_deleted_while_another_pod_is_not_ready,
    waits::nothing_is_deleted_while_the_budget_allows_no_eviction,
    stopped::pod_that_does_not_come_back_stops_it,
    stopped::claim_of_another_class_is_no_victim_of_a_growth,
    stopped::only_replica_is_not_deleted,
    aborted::mark_goes_with_a_pause_and_with_the_withdrawal,
    snapshots::snapshot_of_an_earlier_staging_does_not_count,
];

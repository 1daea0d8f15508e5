//! VolumeSnapshots of PVCs that are created anew.

mod snapshots;

use crate::cluster::opt_in::run;
use crate::world::World;
use crate::world::runner::scenarios;

scenarios![World; snapshots::nothing_is_deleted_before_its_snapshot_is_ready];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn claims_are_deleted_after_their_snapshots_are_ready() -> anyhow::Result<()> {
    run(&[SCENARIOS]).await
}

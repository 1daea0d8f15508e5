//! VolumeSnapshots of PVCs that are created anew.

mod snapshots;

use crate::cluster::recreate::{Environment, run};
use crate::world::runner::scenarios;

// It begins on a cluster without VolumeSnapshots, so it has one of its own.
scenarios![UNSERVED: Environment; snapshots::nothing_is_deleted_before_its_snapshot_is_ready];
scenarios![SERVED: Environment; snapshots::snapshot_of_an_earlier_staging_does_not_count];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn claims_are_deleted_after_their_snapshots_are_ready() -> anyhow::Result<()> {
    run(UNSERVED).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn snapshots_of_an_earlier_staging_do_not_count() -> anyhow::Result<()> {
    run(SERVED).await
}

//! VolumeSnapshots before each deletion, on a cluster that does not serve them at first.

use anyhow::ensure;
use serde_json::{Value, json};

use crate::cluster::recreate::snapshots::{is_of_the_claim, ready, serve, snapshots, time, until_exists, write_status};
use crate::cluster::recreate::trial::{OTHER, anew, prepare, stays, steps_of, until_complete};
use crate::world::namespace::{label, text};
use crate::world::{EXPANDABLE, World};

pub(super) async fn nothing_is_deleted_before_its_snapshot_is_ready(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "snapshots", &anew(2, EXPANDABLE, "1Gi")).await?;
    let uids: Vec<Value> = ns
        .claims()
        .await?
        .into_iter()
        .map(|mut claim| claim["metadata"]["uid"].take())
        .collect();
    ns.target(&anew(2, OTHER, "1Gi").annotated("recreate-snapshot", "daily"))
        .await?;
    ns.until_reason(
        "ReCreateStopped",
        "the cluster has no VolumeSnapshots (snapshot.storage.k8s.io/v1)",
    )
    .await?;
    stays(&ns, &[]).await?;

    serve(&ns).await?;
    let change = ns.staged_change().await?;
    for (ordinal, steps) in [(1, &[][..]), (0, &["delete data-web-1", "evict web-1"])] {
        let claim = format!("data-web-{ordinal}");
        let name = |number| format!("{}-{}-{number}", text(&uids[ordinal]), label(&change));
        let taken = until_exists(&ns, &name(1)).await?;
        is_of_the_claim(&taken, &claim, &name(1), &change["revision"])?;
        let waits = format!("{claim} waits for VolumeSnapshot {}, which is not ready", name(1));
        ns.until_reason("RollingOut", &waits).await?;
        stays(&ns, steps).await?;
        let failed = json!({"readyToUse": false, "error": {"message": "no space", "time": "2026-01-01T00:00:00Z"}});
        write_status(&ns, &taken, &failed).await?;
        let message = format!(
            "{claim} is not deleted: VolumeSnapshot {} has an error: no space",
            name(1)
        );
        ns.until_reason("ReCreateStopped", &message).await?;
        stays(&ns, steps).await?;
        // Taken before the change was staged, and ready only now.
        write_status(&ns, &taken, &ready("2026-01-01T00:00:00Z")).await?;
        let second = until_exists(&ns, &name(2)).await?;
        let waits = format!("{claim} waits for VolumeSnapshot {}, which is not ready", name(2));
        ns.until_reason("RollingOut", &waits).await?;
        stays(&ns, steps).await?;
        write_status(&ns, &second, &ready(&time(0)?)).await?;
    }
    until_complete(&ns, 2, OTHER, "1Gi").await?;
    let steps = steps_of(&ns.writes_since(0).await?);
    ensure!(
        steps == ["delete data-web-1", "evict web-1", "delete data-web-0", "evict web-0"],
        "{steps:?}"
    );
    let left = snapshots(&ns).await?;
    ensure!(left.len() == 4, "{left:#?}");
    Ok(())
}

//! A partition: the ordinals below it are left alone until it is lowered.

use anyhow::ensure;

use crate::world::World;
use crate::world::namespace::condition;
use crate::world::web::Web;

pub(super) async fn replica_below_partition_is_left_alone_until_lowered(env: &World) -> anyhow::Result<()> {
    let of = |size: &str, partition| Web::replicas(3).size(size).partition(partition);
    let ns = env.with_web("partition", &of("1Gi", 1)).await?;
    let (begun, pods) = (ns.mark().await?, ns.pods().await?);
    ns.target(&of("2Gi", 1)).await?;
    let rollout = ns
        .until_reported("two of three", |rollout| {
            rollout["status"]["conditions"][1]["reason"] == "Partitioned"
        })
        .await?;
    let waiting = &rollout["status"]["claims"];
    ensure!(
        waiting[0]["name"] == "data-web-0" && waiting[0]["reason"] == "Partition" && waiting[1].is_null(),
        "{rollout:#}"
    );
    ensure!(condition(&rollout, "Ready") == "False", "{rollout:#}");
    ensure!(ns.staged_change().await?["phase"] == "RollingOut", "{rollout:#}");
    let count = ns.writes_since(begun).await?.count();
    ensure!(
        count.claims == ["data-web-2", "data-web-1"] && count.changes == 0,
        "{count:?}"
    );

    ns.target(&of("2Gi", 0)).await?;
    ns.until_complete(3, "2Gi").await?;
    ns.settled().await?;
    ensure!(ns.pods().await? == pods, "Pods restarted");
    let written = ns.writes_since(begun).await?;
    let claims = ["data-web-2", "data-web-1", "data-web-0"];
    written.claims_follow_one_another(&claims)?;
    written.is_a_rollout(&claims, 0)
}

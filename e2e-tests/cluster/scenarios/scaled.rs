//! The StatefulSet is scaled down during its rollout; for scaling up see `escape`.

use anyhow::{Context as _, ensure};

use crate::world::World;
use crate::world::namespace::condition;

pub(super) async fn claim_of_a_replica_scaled_away_is_updated_last(env: &World) -> anyhow::Result<()> {
    let ns = env.with_set("stopped-down", 3).await?;
    env.barriers.hold_claim(&ns.namespace, "data-web-1");
    ns.apply(3, "2Gi").await?;
    let held = env.barriers.until_held(&ns.namespace).await;
    held.with_context(|| ns.log())?;
    ns.typed("scale statefulset web --replicas=1").await?;
    env.barriers.open(&ns.namespace);
    ns.until_reported("one replica", |rollout| {
        let status = &rollout["status"];
        condition(rollout, "Ready") == "True" && status["replicas"] == 1 && status["readyReplicas"] == 1
    })
    .await?;
    let written = ns.writes_since(0).await?;
    written.is_a_rollout(&["data-web-2", "data-web-1", "data-web-0"], 0)?;
    ns.typed("scale statefulset web --replicas=3").await?;
    ns.until_ready(3).await?;
    ns.until_complete(3, "2Gi").await?;
    let again = ns.writes_since(0).await?.count();
    ensure!(
        again.claims == written.count().claims && again.changes == 1,
        "{again:?}"
    );
    Ok(())
}

//! The StatefulSet is scaled during its rollout; for scaling up see `beside`.

use anyhow::{Context as _, ensure};

use crate::world::World;
use crate::world::namespace::{TestNamespace, condition};

/// A StatefulSet of three that is scaled to this number of replicas, when two of them are updated or about to be.
async fn scaled_in_the_middle<'a>(
    env: &'a World,
    namespace: &str,
    replicas: &str,
) -> anyhow::Result<TestNamespace<'a>> {
    let ns = env.with_set(namespace, 3).await?;
    env.barriers.hold_claim(namespace, "data-web-1");
    ns.apply(3, "2Gi").await?;
    let held = env.barriers.until_held(namespace).await;
    held.with_context(|| ns.log())?;
    scale(&ns, replicas).await?;
    env.barriers.open(namespace);
    Ok(ns)
}

async fn scale(ns: &TestNamespace<'_>, replicas: &str) -> anyhow::Result<()> {
    let replicas = format!("--replicas={replicas}");
    ns.typed(&format!("scale statefulset web {replicas}")).await?;
    Ok(())
}

pub(super) async fn claim_of_a_replica_scaled_away_is_updated_last(env: &World) -> anyhow::Result<()> {
    let ns = scaled_in_the_middle(env, "stopped-down", "1").await?;
    ns.until_reported("one replica", |rollout| {
        let status = &rollout["status"];
        condition(rollout, "Ready") == "True" && status["replicas"] == 1 && status["readyReplicas"] == 1
    })
    .await?;
    let written = ns.writes_since(0).await?;
    written.is_a_rollout(&["data-web-2", "data-web-1", "data-web-0"], 0)?;
    scale(&ns, "3").await?;
    ns.until_ready(3).await?;
    ns.until_complete(3, "2Gi").await?;
    let again = ns.writes_since(0).await?.count();
    ensure!(
        again.claims == written.count().claims && again.changes == 1,
        "{again:?}"
    );
    Ok(())
}

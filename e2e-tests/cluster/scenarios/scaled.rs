//! The StatefulSet is scaled down during its rollout; for scaling up see `escape`.

use anyhow::ensure;

use super::held::held_at;
use crate::world::World;
use crate::world::namespace::condition;
use crate::world::web::Web;

pub(super) async fn claim_of_a_replica_scaled_away_is_updated_last(env: &World) -> anyhow::Result<()> {
    let ns = env.with_set("stopped-down", 3).await?;
    held_at(env, &ns, "data-web-1", &Web::replicas(3).size("2Gi")).await?;
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

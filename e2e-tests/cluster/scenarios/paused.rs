//! `paused: "true"`: nothing new starts.

use anyhow::ensure;

use super::held::held_at;
use crate::world::World;
use crate::world::namespace::condition;
use crate::world::web::Web;

pub(super) async fn paused_rollout_finishes_current_replica_and_resumes(env: &World) -> anyhow::Result<()> {
    let ns = env.with_set("stopped-paused", 3).await?;
    let begun = ns.mark().await?;
    held_at(env, &ns, "data-web-1", &Web::replicas(3).size("2Gi")).await?;
    let pause = |value: &'static str| ["annotate", "statefulset", "web", value, "--overwrite"];
    ns.done(&pause("claim-rollout.io/paused=true"), "").await?;
    env.barriers.open(&ns.namespace);
    let rollout = ns
        .until_reported("the pause", |rollout| {
            rollout["status"]["conditions"][1]["reason"] == "Paused" && rollout["status"]["readyReplicas"] == 2
        })
        .await?;
    ensure!(condition(&rollout, "Reconciling") == "True", "{rollout:#}");
    let waiting = &rollout["status"]["claims"];
    ensure!(
        waiting[0]["name"] == "data-web-0" && waiting[0]["reason"] == "Paused" && waiting[1].is_null(),
        "{rollout:#}"
    );
    // Unrelated changes.
    ns.typed("label pvc data-web-0 team=storage").await?;
    ns.typed("label statefulset web team=storage").await?;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    let count = ns.writes_since(begun).await?.count();
    ensure!(
        count.claims == ["data-web-2", "data-web-1"] && count.changes == 0,
        "{count:?}"
    );

    ns.done(&pause("claim-rollout.io/paused-"), "").await?;
    ns.until_complete(3, "2Gi").await?;
    let written = ns.writes_since(begun).await?;
    let claims = ["data-web-2", "data-web-1", "data-web-0"];
    written.claims_follow_one_another(&claims)?;
    written.is_a_rollout(&claims, 0)
}

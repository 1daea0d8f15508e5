//! The StatefulSet is scaled during its rollout; for scaling up see `beside`.

use anyhow::{Context as _, ensure};

use super::namespace::{Environment, TestNamespace, condition};

/// A StatefulSet of three that is scaled to this number of replicas, when two of them are updated or about to be.
async fn scaled_in_the_middle<'a>(
    env: &'a Environment,
    namespace: &str,
    replicas: &str,
) -> anyhow::Result<TestNamespace<'a>> {
    let ns = TestNamespace::with_set(env, namespace, 3).await?;
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
    ns.done(&["scale", "statefulset", "web", &replicas], "").await?;
    Ok(())
}

pub(super) async fn removed_replica_is_left_alone_until_it_is_back(env: &Environment) -> anyhow::Result<()> {
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

pub(super) async fn without_replicas_complete_and_continued_after_scale_up(env: &Environment) -> anyhow::Result<()> {
    let ns = scaled_in_the_middle(env, "stopped-to-zero", "0").await?;
    ns.until_reported("no replica", |rollout| {
        condition(rollout, "Ready") == "True" && rollout["status"]["replicas"] == 0
    })
    .await?;
    ensure!(ns.staged_change().await?["phase"] == "Complete", "{}", ns.log());
    scale(&ns, "3").await?;
    ns.until_ready(3).await?;
    ns.until_complete(3, "2Gi").await?;
    let again = ns.writes_since(0).await?.count();
    // The write of the second and the third PVC may have been in progress: each was made once, before or after.
    let mut claims = again.claims.clone();
    claims.sort();
    let expected = ["data-web-0", "data-web-1", "data-web-2"];
    ensure!(
        again.claims[0] == "data-web-2" && claims == expected && again.changes == 1,
        "{again:?}"
    );
    Ok(())
}

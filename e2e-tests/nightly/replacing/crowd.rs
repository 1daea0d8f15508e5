//! One controller for all namespaces: replacements that get no further stop no others, and absent StatefulSets come
//! first.

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::cluster::replacing::denying::Denial;
use crate::cluster::replacing::kept::{every_write_names_its_version, until_complete};
use crate::cluster::replacing::trial::{hold, journals, release, replaced, until_replaced};
use crate::world::installation::{Controller, JOURNALS};
use crate::world::namespace::{PATIENCE, TestNamespace};
use crate::world::{Options, World, eventually};

/// More StatefulSets of one tenant than there are places.
const STUCK: usize = 20;
const PLACES: usize = 16;

/// The manifests of the StatefulSets of the tenant. They have no Pods, so that all of them are replaced as soon as they
/// are old enough.
fn manifests(size: &str) -> String {
    let web = replaced(0, size);
    let named = |number| web.named(&format!("web-{number}")).to_string();
    (0..STUCK).map(named).collect::<Vec<_>>().join("---\n")
}

/// How many StatefulSets are being deleted.
async fn terminating(ns: &TestNamespace<'_>) -> anyhow::Result<usize> {
    let sets = ns.all("apps", "v1", "StatefulSet").await?;
    let is_terminating = |set: &&Value| !set["metadata"]["deletionTimestamp"].is_null();
    Ok(sets.iter().filter(is_terminating).count())
}

/// A controller for all namespaces, which somebody else logs and ends.
async fn controller(env: &World) -> anyhow::Result<Controller> {
    env.controllers.start(&[JOURNALS]).await
}

/// Rolls out a change of the StatefulSet of another tenant, which is replaced after that. Returns it as it was.
async fn rolled_out(ns: &TestNamespace<'_>) -> anyhow::Result<Value> {
    hold(ns).await?;
    ns.target(&replaced(1, "2Gi")).await?;
    ns.until_complete(1, "2Gi").await?;
    release(ns).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn stuck_replacements_of_one_tenant_stop_no_other() -> anyhow::Result<()> {
    let env = World::with(Options::default())
        .policy(json!({}))
        .rights(&["replace-sets.yaml"])
        .build()
        .await?;
    let namespace = |name| env.namespace(name);
    let (crowd, other, absent) = (
        namespace("crowd").await?,
        namespace("other").await?,
        namespace("absent").await?,
    );
    crowd.target(&manifests("1Gi")).await?;
    for ns in [&other, &absent] {
        ns.target(&replaced(1, "1Gi")).await?;
        ns.settled().await?;
    }
    // No dry run shows that the finalizer must not be removed.
    let never_released = Denial::of_the_release(&crowd).await?;
    let mut running = controller(&env).await?;
    let all_stuck = async |least: usize| {
        let is_stuck = eventually("the StatefulSets to be stuck", 3 * PATIENCE, async || {
            Ok((terminating(&crowd).await? >= least).then_some(()))
        });
        is_stuck.await
    };
    crowd.target(&manifests("2Gi")).await?;
    all_stuck(PLACES).await.with_context(|| running.log())?;

    let before = rolled_out(&other).await.with_context(|| running.log())?;
    until_replaced(&other, &before, "2Gi")
        .await
        .with_context(|| running.log())?;
    ensure!(terminating(&crowd).await? >= PLACES, "they are not stuck any more");
    all_stuck(STUCK).await.with_context(|| running.log())?;

    let never_created = Denial::of_the_create(&absent).await?;
    rolled_out(&absent).await.with_context(|| running.log())?;
    let gap = absent
        .until("the StatefulSet to be absent", "statefulset/web", Value::is_null)
        .await;
    gap.with_context(|| running.log())?;
    drop(running);
    never_created.end(&absent).await?;
    running = controller(&env).await?;
    until_complete(&absent).await.with_context(|| running.log())?;
    ensure!(terminating(&crowd).await? == STUCK, "they are not stuck any more");

    never_released.end(&crowd).await?;
    let ended = eventually("all StatefulSets to be replaced", 3 * PATIENCE, async || {
        let left = (terminating(&crowd).await?, journals(&crowd).await?.len());
        Ok((left == (0, 0)).then_some(()))
    });
    ended.await.with_context(|| running.log())?;
    drop(running);
    every_write_names_its_version(&env.cluster).await?;
    env.stop().await
}

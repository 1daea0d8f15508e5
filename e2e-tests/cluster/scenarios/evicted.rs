//! The last part of an expansion is done by the node, with some drivers only when the volume is mounted again.

use anyhow::ensure;
use serde_json::Value;

use crate::world::manifests::closed_budget;
use crate::world::namespace::{TestNamespace, text};
use crate::world::policy_host::documents;
use crate::world::web::Web;
use crate::world::{Driver, World, until};

/// A StatefulSet of one whose volume waits for the node.
async fn prepare<'a>(env: &'a World, namespace: &str) -> anyhow::Result<TestNamespace<'a>> {
    let mut ns = env.namespace(namespace).await?;
    let driver = Driver {
        node_expansion_required: true,
        ..Driver::default()
    };
    ns.make_class(&driver, true).await?;
    ns.start_controller(env, &[]).await?;
    ns.target(&Web::replicas(1).class(namespace)).await?;
    ns.settled().await?;
    Ok(ns)
}

/// A driver that grows the file system only when the volume is mounted again, and a user who wants the Pods evicted for
/// that.
pub(super) async fn pod_is_evicted_if_its_file_system_has_not_grown(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "node-evicted").await?;
    let rights = documents("evict-pods.yaml")?;
    ns.target(&closed_budget()).await?;
    let pods = ns.pods().await?;
    let grown = Web::replicas(1).size("2Gi").class("node-evicted");
    ns.target(&grown.annotated("restart", "WhenNodeExpansionPends")).await?;
    let begun = ns.mark().await?;

    let denied =
        |words: &'static str| move |rollout: &Value| text(&rollout["status"]["claims"][0]["message"]).contains(words);
    let without_right = denied("failed to evict its Pod: pods \"web-0\" is forbidden");
    ns.until_reported("no right to evict", without_right).await?;
    for right in &rights {
        ns.target(right).await?;
    }
    let by_budget =
        denied("failed to evict its Pod: 429 Cannot evict pod as it would violate the pod's disruption budget");
    ns.until_reported("a budget that allows none", by_budget).await?;
    ensure!(ns.pods().await? == pods, "Pods were evicted");
    ns.typed("delete pdb web").await?;

    let is_another = |now: &Vec<Value>| now.len() == 1 && now != &pods;
    until("the Pod to be another one", async || ns.pods().await, is_another).await?;
    ns.node_grows("data-web-0").await?;
    ns.until_complete(1, "2Gi").await?;
    let events = ns.events().await?;
    ensure!(events.get("PodEvicted") == Some(&1), "{events:?}");
    let evictions = ns.writes_since(begun).await?.evictions();
    ensure!(evictions == ["web-0"], "{evictions:?}");
    Ok(())
}

//! Somebody added a template by hand, and the StatefulSet controller is stuck (kubernetes#141876).

use anyhow::ensure;
use serde_json::Value;

use super::trial::{Watcher, claims, evicted, has_new_claims, prepare, ready, start_controller, until_mounted, web};
use crate::world::manifests::closed_budget;
use crate::world::namespace::TestNamespace;
use crate::world::{World, until};

/// A StatefulSet of three that a user created again with one more template. No controller runs.
async fn wedged<'a>(env: &'a World, namespace: &str, management: &str) -> anyhow::Result<TestNamespace<'a>> {
    let old = web(3, management);
    let mut ns = prepare(env, namespace, &old).await?;
    ns.controller = None;
    ns.typed("delete statefulset web --cascade=orphan").await?;
    ns.done(&["create", "-f", "-"], &old.and_template("logs")).await?;
    let is_stuck = |event: &Value| event["reason"] == "FailedUpdate";
    ns.until_all("the StatefulSet controller to be stuck", "event", |events| {
        events.iter().any(is_stuck)
    })
    .await?;
    Ok(ns)
}

pub(super) async fn wedge_made_by_hand_is_repaired(env: &World) -> anyhow::Result<()> {
    let repairs = async |namespace: &str, management: &str, is_missing: bool| -> anyhow::Result<()> {
        let mut ns = wedged(env, namespace, management).await?;
        let mut before = claims(&ns).await?;
        before.retain(|name, _| name.starts_with("data"));
        // Nothing creates it again.
        if is_missing {
            ns.delete_pods(&["web-2"]).await?;
        }
        let watcher = Watcher::start(&ns, 3);
        ns.controller = Some(start_controller(env, namespace).await?);
        until_mounted(&ns, 3, &["data", "logs"]).await?;
        let most = watcher.end().await?;
        ensure!(
            most == if is_missing { 2 } else { 1 },
            "{most} Pods were away at the same time"
        );
        let evicted = evicted(&ns).await?;
        let expected = ["web-0", "web-1", "web-2"];
        ensure!(evicted == expected[..if is_missing { 2 } else { 3 }], "{evicted:?}");
        has_new_claims(&ns, &before, "logs", 3).await
    };
    futures::try_join!(
        repairs("templates-wedged", "OrderedReady", false),
        repairs("templates-wedged-parallel", "Parallel", false),
        repairs("templates-wedged-missing", "OrderedReady", true),
    )
    .map(drop)
}

pub(super) async fn budget_and_pause_are_respected(env: &World) -> anyhow::Result<()> {
    let mut ns = wedged(env, "templates-budget", "OrderedReady").await?;
    let pause = |paused: bool| format!("claim-rollout.io/paused={paused}");
    ns.target(&closed_budget()).await?;
    ns.done(&["annotate", "statefulset", "web", &pause(true)], "").await?;
    let pods = ns.pods().await?;
    ns.controller = Some(start_controller(env, "templates-budget").await?);
    let reports = async |words: &str| until(words, async || ready(&ns).await, |report| report.contains(words)).await;
    reports("PodLacksVolume: 3 Pods lack a volume; Pod web-0 lacks logs, and is not evicted yet: paused").await?;
    ns.done(&["annotate", "statefulset", "web", "--overwrite", &pause(false)], "")
        .await?;
    reports("is not evicted yet: the eviction was denied: 429 Cannot evict pod as it would violate").await?;
    ensure!(ns.pods().await? == pods, "Pods were evicted");
    ensure!(evicted(&ns).await?.is_empty(), "Pods were evicted");
    ns.typed("delete pdb web").await?;
    until_mounted(&ns, 3, &["data", "logs"]).await
}

//! A Pod is not Ready because its disk is full, and a size and an image change in one apply: the rollout ends.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::world::World;
use crate::world::namespace::{TestNamespace, text};
use crate::world::web::Web;

const NOT_READY: &str = "e2e.claim-rollout.io/ready";

async fn pod(ns: &TestNamespace<'_>, name: &str) -> anyhow::Result<Value> {
    let output = ns
        .kubectl(&["get", "pod", name, "-o", "json", "--ignore-not-found"], "")
        .await?;
    Ok(serde_json::from_str(&output.stdout).unwrap_or_default())
}

/// The disk has room again when the PVC has grown: the same Pod becomes Ready.
async fn recovers(ns: &TestNamespace<'_>, ordinal: usize, uid: &str) -> anyhow::Result<()> {
    let what = format!("data-web-{ordinal} to grow");
    ns.until_all(&what, "pvc", |claims| {
        claims[ordinal]["status"]["capacity"]["storage"] == "2Gi"
    })
    .await?;
    let name = format!("web-{ordinal}");
    if text(&pod(ns, &name).await?["metadata"]["uid"]) == uid {
        let annotation = format!("{NOT_READY}-");
        // The StatefulSet controller may delete the Pod at this moment.
        ns.kubectl(&["annotate", "pod", &name, &annotation], "").await?;
    }
    Ok(())
}

/// `management` is OrderedReady or Parallel; the disk of this ordinal is full.
async fn ends(env: &World, namespace: &str, management: &str, ordinal: usize) -> anyhow::Result<()> {
    let of = |size: &str| {
        let web = Web::replicas(3).size(size);
        web.spec(&json!({"podManagementPolicy": management}))
    };
    let ns = env.with_web(namespace, &of("1Gi")).await?;
    let (begun, name) = (ns.mark().await?, format!("web-{ordinal}"));
    let annotation = format!("{NOT_READY}=false");
    ns.done(&["annotate", "pod", &name, &annotation], "").await?;
    let unready = [
        "wait",
        "--for=condition=Ready=false",
        &format!("pod/{name}"),
        "--timeout=60s",
    ];
    ns.done(&unready, "").await?;
    let uid = text(&pod(&ns, &name).await?["metadata"]["uid"]);
    ns.target(&of("2Gi").image("2")).await?;
    recovers(&ns, ordinal, &uid).await?;
    ns.until_complete(3, "2Gi").await?;
    ns.until_updated(3).await?;
    let count = ns.writes_since(begun).await?.count();
    let first = format!("data-web-{ordinal}");
    ensure!(
        count.claims.first() == Some(&first) && count.claims.len() == 3,
        "{count:?}"
    );
    // If a Pod is not Ready, the controller may ask for that Pod besides the highest one.
    ensure!(count.changes == 1 && count.nudges <= 6, "{count:?}");
    Ok(())
}

pub(super) async fn ordered_pods_full_disk_at_any_ordinal_rollout_ends(env: &World) -> anyhow::Result<()> {
    let names = ["full-disk-0", "full-disk-1", "full-disk-2"];
    let all = names
        .iter()
        .enumerate()
        .map(|(ordinal, name)| ends(env, name, "OrderedReady", ordinal));
    futures::future::try_join_all(all).await.map(drop)
}

/// Since 1.37 an unavailable Pod uses `maxUnavailable` up, so no other Pod is replaced first.
pub(super) async fn parallel_pods_full_disk_of_lowest_rollout_ends(env: &World) -> anyhow::Result<()> {
    let rollout = ends(env, "full-disk-parallel", "Parallel", 0);
    let ended = tokio::time::timeout(Duration::from_secs(300), rollout).await;
    ended.context("a full disk of a Parallel StatefulSet")?
}

//! Templates are removed and renamed: their PVCs stay, and nobody manages them.

use anyhow::ensure;

use super::trial::{
    Watcher, claims, deleted, evicted, has_new_claims, prepare, until_mounted, until_replaced, web, with_mount,
};
use crate::world::World;
use crate::world::namespace::text;

pub(super) async fn removed_template_restarts_nothing_and_keeps_its_claims(env: &World) -> anyhow::Result<()> {
    let small = web(3, "OrderedReady");
    let ns = prepare(env, "templates-removed", &small.and_template("logs")).await?;
    let (before, pods, set) = (claims(&ns).await?, ns.pods().await?, ns.set().await?);
    let output = ns.target(&small).await?;
    let warned = "nothing manages them any more: logs";
    ensure!(output.stderr.contains(warned), "{output:?}");
    until_replaced(&ns, &set, &["data"]).await?;
    ns.settled().await?;
    ensure!(ns.pods().await? == pods, "Pods restarted");
    let now = claims(&ns).await?;
    ensure!(now == before, "PVCs: {now:?}, before {before:?}");
    // A new replica has no such PVC.
    ns.done(&["scale", "statefulset", "web", "--replicas=4"], "").await?;
    ns.until_ready(4).await?;
    let names: Vec<String> = claims(&ns)
        .await?
        .into_keys()
        .filter(|name| !before.contains_key(name))
        .collect();
    ensure!(names == ["data-web-3"], "{names:?}");
    Ok(())
}

pub(super) async fn renamed_template_leaves_its_claims(env: &World) -> anyhow::Result<()> {
    let small = web(3, "OrderedReady");
    let old = small.and_template("logs");
    let new = with_mount(&small.and_template("journal"), "journal");
    let ns = prepare(env, "templates-renamed", &old).await?;
    let (before, set) = (claims(&ns).await?, ns.set().await?);
    let output = ns.target(&new).await?;
    ensure!(
        output.stderr.contains("staged journal added, logs removed"),
        "{output:?}"
    );
    let watcher = Watcher::start(&ns, 3);
    until_replaced(&ns, &set, &["data", "journal"]).await?;
    until_mounted(&ns, 3, &["data", "journal"]).await?;
    let most = watcher.end().await?;
    ensure!(most == 1, "{most} Pods were away at the same time");
    let evicted = evicted(&ns).await?;
    ensure!(evicted == ["web-0", "web-1", "web-2"], "{evicted:?}");
    ensure!(deleted(&ns).await?.is_empty(), "Kubernetes deleted Pods");
    has_new_claims(&ns, &before, "journal", 3).await?;
    for claim in ns.claims().await? {
        let (name, owners) = (text(&claim["metadata"]["name"]), &claim["metadata"]["ownerReferences"]);
        ensure!(!name.starts_with("logs") || owners.is_null(), "{claim:#}");
    }
    Ok(())
}

//! Templates are removed and renamed: their PVCs stay, and nobody manages them.

use anyhow::ensure;

use super::trial::{claims, prepare, until_replaced, web};
use crate::world::World;

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
    ns.typed("scale statefulset web --replicas=4").await?;
    ns.until_ready(4).await?;
    let names: Vec<String> = claims(&ns)
        .await?
        .into_keys()
        .filter(|name| !before.contains_key(name))
        .collect();
    ensure!(names == ["data-web-3"], "{names:?}");
    Ok(())
}

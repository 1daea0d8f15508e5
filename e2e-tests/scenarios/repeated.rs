//! GitOps: the same manifest, again and again.

use anyhow::ensure;

use super::scene::{Scene, Stage, manifest, text};

pub(super) async fn the_same_manifest_again_writes_nothing(stage: &Stage) -> anyhow::Result<()> {
    let scene = Scene::with_set(stage, "repeated", 2).await?;
    scene.apply(2, "2Gi").await?;
    scene.until_complete(2, "2Gi").await?;
    let (before, claims, pods) = (scene.set().await?, scene.claims().await?, scene.pods().await?);
    let written = scene.mark().await?;

    let client_side = &["apply", "-f", "-"][..];
    let server_side = &["apply", "--server-side", "--force-conflicts", "-f", "-"][..];
    for way in [client_side, server_side] {
        let mut versions = vec![text(&scene.set().await?["metadata"]["resourceVersion"])];
        for _ in 0..5 {
            let output = scene.done(way, &manifest(2, "2Gi")).await?;
            ensure!(
                !output.stderr.contains("claim-rollout"),
                "nothing new is staged: {output:?}"
            );
            let set = scene.set().await?;
            ensure!(
                set["metadata"]["generation"] == before["metadata"]["generation"],
                "{set:#}"
            );
            ensure!(set["spec"] == before["spec"], "{set:#}");
            ensure!(super::scene::record(&set)? == super::scene::record(&before)?, "{set:#}");
            versions.push(text(&set["metadata"]["resourceVersion"]));
        }
        // The first one may write: whose fields they are, or the order in which the API server keeps that.
        versions.dedup();
        ensure!(versions.len() <= 2, "{way:?}: {versions:?}");
    }
    ensure!(scene.claims().await? == claims, "a claim was written");
    ensure!(scene.pods().await? == pods, "Pods restarted");
    let ours = scene.writes_since(written).await?;
    ensure!(ours.ours().next().is_none(), "{:#?}", ours.count());
    Ok(())
}

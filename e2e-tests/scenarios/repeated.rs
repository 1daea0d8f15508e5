//! GitOps: the same manifest, again and again.

use anyhow::ensure;

use super::again::Unmoved;
use super::scene::{Scene, Stage, are_as_written, manifest, staged_change};

pub(super) async fn same_manifest_again_writes_nothing(stage: &Stage) -> anyhow::Result<()> {
    let scene = Scene::with_set(stage, "repeated", 2).await?;
    scene.apply(2, "2Gi").await?;
    scene.until_complete(2, "2Gi").await?;
    let (before, claims, pods) = (scene.set().await?, scene.claims().await?, scene.pods().await?);
    let written = scene.mark().await?;

    let send = async |way: &[&str]| {
        let output = scene.done(way, &manifest(2, "2Gi")).await?;
        ensure!(
            !output.stderr.contains("claim-rollout"),
            "nothing new is staged: {output:?}"
        );
        scene.set().await
    };
    let mut unmoved = Unmoved::from(before.clone())?;
    for _ in 0..5 {
        unmoved.still(send(&["apply", "-f", "-"]).await?)?;
    }
    let server_side = &["apply", "--server-side", "--force-conflicts", "-f", "-"];
    // The first request takes the fields over from their managers.
    let taken = send(server_side).await?;
    for path in ["/spec", "/status", "/metadata/generation"] {
        ensure!(taken.pointer(path) == before.pointer(path), "{path}: {taken:#}");
    }
    ensure!(staged_change(&taken)? == staged_change(&before)?, "{taken:#}");
    let mut unmoved = Unmoved::from(taken)?;
    for _ in 0..5 {
        unmoved.still(send(server_side).await?)?;
    }
    ensure!(are_as_written(&scene.claims().await?, &claims), "a claim was written");
    ensure!(scene.pods().await? == pods, "Pods restarted");
    let ours = scene.writes_since(written).await?;
    ensure!(ours.ours().next().is_none(), "{:#?}", ours.count());
    Ok(())
}

//! A size and an image in one commit, and a partition that stands in Git: while Pods wait for their claims the set has
//! another one.

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::story::{cell, in_git, with_image};
use super::tools::Tool;
use crate::cluster::eventually;
use crate::scenarios::scene::{PATIENCE, Scene};
use crate::stage::Stage;

fn with_partition(mut manifest: Value) -> Value {
    manifest["spec"]["updateStrategy"] = json!({"rollingUpdate": {"partition": 0}});
    manifest
}

fn quota(storage: &str) -> String {
    let spec = json!({"hard": {"requests.storage": storage}});
    json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "storage"}, "spec": spec}).to_string()
}

/// The cell of the tool: what it shows in the middle of the rollout, and whether it can sync then. At the end it shows what
/// it shows without a partition.
pub(super) async fn cell_of(stage: &Stage, tool: &Tool) -> anyhow::Result<String> {
    let namespace = format!("{}-held", tool.namespace);
    let mut scene = Scene::new(&stage.cluster, &stage.client, &namespace).await?;
    let small = with_partition(in_git("1Gi")?);
    tool.sync.send(&scene, &small).await?;
    scene.settled().await?;
    // Room for one of the two claims: there it stays until somebody raises it.
    scene.wish(&quota("3Gi")).await?;
    let counted = [
        "wait",
        "--for=jsonpath={.status.used.requests\\.storage}=2Gi",
        "quota/storage",
    ];
    scene.done(&counted, "").await?;
    let both = with_image(with_partition(in_git("2Gi")?), 2);
    tool.sync.send(&scene, &both).await?;
    let arguments = ["--namespace", &namespace];
    scene.controller = Some(stage.installation.start_controller(&arguments).await?);
    until_partition(&scene, 1).await?;
    let refused = |rollout: &Value| rollout["status"]["claims"][0]["state"] == "Refused";
    scene.until_reported("the second claim to be refused", refused).await?;
    scene.settled().await?;

    let shown = tool.shows(&scene, &both, &both).await?;
    let mut cell = cell(&shown);
    if let Err(error) = tool.sync.send(&scene, &both).await {
        let error = error.to_string();
        ensure!(error.contains("conflict with \"claim-rollout\""), "{error}");
        cell += "; a sync is a conflict";
    }
    until_partition(&scene, 1).await?;

    scene.wish(&quota("4Gi")).await?;
    scene.until_complete(2, "2Gi").await?;
    scene.until_free(0).await?;
    scene.until_updated(2).await?;
    let last = tool.shows(&scene, &both, &both).await?;
    ensure!(
        !last.iter().any(|path| path.contains("partition")),
        "at the end it shows {last:?}"
    );
    tool.sync.send(&scene, &both).await.context("at the end")?;
    Ok(cell)
}

/// Waits until this partition is in force, and the one of Git noted.
async fn until_partition(scene: &Scene<'_>, partition: u64) -> anyhow::Result<()> {
    let what = format!("partition {partition}");
    let reached = eventually(&what, PATIENCE, async || {
        let set = scene.set().await?;
        let held = &set["metadata"]["annotations"]["claim-rollout.io/held-partition"];
        let found = &set["spec"]["updateStrategy"]["rollingUpdate"]["partition"];
        Ok((held == "0" && *found == partition).then_some(()))
    });
    reached.await.with_context(|| scene.log())
}

//! A size and an image in one commit, and a partition in Git. While Pods wait for their PVCs the tool shows nothing
//! special, and can sync.

use anyhow::Context as _;
use serde_json::{Value, json};

use super::cycle::{cell, in_git};
use super::tools::Tool;
use crate::world::World;
use crate::world::namespace::label;

fn quota(storage: &str) -> String {
    let spec = json!({"hard": {"requests.storage": storage}});
    json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "storage"}, "spec": spec}).to_string()
}

/// The differences that the tool shows in the middle of the rollout and at its end. A sync is no conflict.
pub(super) async fn shows(env: &World, tool: &Tool) -> anyhow::Result<[String; 2]> {
    let namespace = format!("{}-waiting", tool.namespace);
    let mut ns = env.namespace(&namespace).await?;
    let small = in_git("1Gi").partition(0).value();
    tool.sync.send(&ns, &small).await?;
    ns.settled().await?;
    let both = in_git("2Gi").partition(0).image("2").value();
    tool.sync.send(&ns, &both).await?;
    // A previous controller wrote the first of the two PVCs when the quota had room. Now the quota has none.
    let label = label(&ns.staged_change().await?);
    let first = json!({
        "metadata": {"labels": {"claim-rollout.io/revision": label}},
        "spec": {"resources": {"requests": {"storage": "2Gi"}}},
    });
    ns.typed(&format!("patch pvc data-web-1 -p '{first}'")).await?;
    ns.target(&quota("3Gi")).await?;
    ns.until_quota("used", "3Gi").await?;
    ns.start_controller(env, &[]).await?;
    let refused = |rollout: &Value| rollout["status"]["claims"][0]["state"] == "Refused";
    ns.until_reported("the second claim to be refused", refused).await?;
    ns.until_updated(1).await?;
    ns.until_denied("web-0").await?;

    let waiting = cell(&tool.shows(&ns, &both, &both).await?);
    tool.sync.send(&ns, &both).await.context("while Pods wait")?;

    ns.target(&quota("4Gi")).await?;
    ns.until_complete(2, "2Gi").await?;
    ns.until_updated(2).await?;
    let end = cell(&tool.shows(&ns, &both, &both).await?);
    tool.sync.send(&ns, &both).await.context("at the end")?;
    Ok([waiting, end])
}

//! The policy-server is away, but its webhook is registered.

use anyhow::ensure;

use super::scene::{Scene, plain_manifest, text};
use crate::cluster::Cluster;
use crate::installation::{Installation, USER};

/// `failurePolicy: Fail` affects only users who change templates.
pub(super) async fn without_policy_unrelated_updates_pass(
    cluster: &Cluster,
    installation: Installation,
    client: &kube::Client,
) -> anyhow::Result<()> {
    let mut scene = Scene::new(cluster, client, "policy-down").await?;
    scene.controller = Some(installation.start_controller(&["--namespace", "policy-down"]).await?);
    let plain = |size: &str| plain_manifest(1, size);
    scene.done(&["apply", "-f", "-"], &plain("1Gi")).await?;
    scene.until_ready(1).await?;
    let claims = scene.claims().await?;
    installation.lose_policy().await?;

    for edit in [
        &["set", "env", "statefulset/web", "A=b"][..],
        &["annotate", "statefulset", "web", "example.com/note=hello"],
        &["label", "statefulset", "web", "team=storage"],
        &["scale", "statefulset", "web", "--replicas=1"],
    ] {
        scene.done(edit, "").await?;
    }
    let version = text(&scene.set().await?["metadata"]["generation"]);
    let grown = scene.kubectl(&["apply", "-f", "-"], &plain("2Gi")).await?;
    ensure!(
        !grown.success && grown.stderr.contains("failed calling webhook"),
        "{grown:?}"
    );
    ensure!(
        text(&scene.set().await?["metadata"]["generation"]) == version,
        "the set was changed"
    );
    let ours = scene.writes_of(USER).await?;
    ensure!(ours.is_empty(), "{ours:?}");
    let after = scene.claims().await?;
    ensure!(after[0]["spec"] == claims[0]["spec"], "{after:#?}");
    ensure!(
        after[0]["metadata"]["labels"] == claims[0]["metadata"]["labels"],
        "{after:#?}"
    );
    Ok(())
}

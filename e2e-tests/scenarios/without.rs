//! A rollout with an image while the controller, the policy, or both are away: no Pod runs ahead without need, and none
//! is lost.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::scene::{PATIENCE, Scene, Stage, manifest, with_image};
use super::served::Served;
use crate::cluster::eventually;
use crate::commands::run;

/// Longer than the first pauses of the StatefulSet controller.
const AWAY: Duration = Duration::from_secs(60);

/// The images of the Pods, sorted by name.
async fn images(scene: &Scene<'_>) -> anyhow::Result<Vec<String>> {
    let output = scene.done(&["get", "pods", "-o", "json"], "").await?;
    let pods: Value = serde_json::from_str(&output.stdout)?;
    let pods = pods["items"].as_array().context("Pods")?;
    let image = |pod: &Value| {
        pod["spec"]["containers"][0]["image"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    Ok(pods.iter().map(image).collect())
}

/// Holds the write of the highest PVC, so that its Pod waits; then kills the controller.
async fn in_the_middle(stage: &Stage, scene: &mut Scene<'_>) -> anyhow::Result<()> {
    stage.barriers.hold_claim(&scene.namespace, "data-web-2");
    scene.target(&with_image(&manifest(3, "2Gi"), "2")).await?;
    let held = stage.barriers.until_held(&scene.namespace).await;
    held.with_context(|| scene.log())?;
    if let Some(controller) = &mut scene.controller {
        controller.kill()?;
    }
    stage.barriers.open_for_others(&scene.namespace);
    Ok(())
}

pub(super) async fn without_controller_no_pod_runs_ahead_or_is_lost(stage: &Stage) -> anyhow::Result<()> {
    let mut scene = Scene::with_set(stage, "stopped-without-controller", 3).await?;
    in_the_middle(stage, &mut scene).await?;
    let why = scene.until_denied("web-2").await?;
    ensure!(why.contains("data-web-2 is not yet at revision"), "{why}");
    // A user drains the node of a Pod: the Pod is created again at once, with the new image.
    scene.done(&["delete", "pod", "web-0"], "").await?;
    tokio::time::sleep(AWAY).await;
    scene.until_ready(3).await?;
    let ran = images(&scene).await?;
    ensure!(ran == ["example/main:2", "example/main:1", "example/main:1"], "{ran:?}");
    scene.start_controller(stage, &[]).await?;
    scene.until_complete(3, "2Gi").await?;
    scene.until_updated(3).await?;
    let count = scene.writes_since(0).await?.count();
    ensure!(count.claims.len() == 3 && count.changes == 1, "{count:?}");
    Ok(())
}

pub(super) async fn without_policy_pods_go_on_and_claims_follow(stage: &Stage) -> anyhow::Result<()> {
    let mut scene = Scene::with_set(stage, "stopped-without-policy", 3).await?;
    {
        let served = Served::start(stage, &scene, &json!({})).await?;
        stage.barriers.hold_claim(&scene.namespace, "data-web-2");
        scene.target(&with_image(&manifest(3, "2Gi"), "2")).await?;
        let held = stage.barriers.until_held(&scene.namespace).await;
        held.with_context(|| scene.log())?;
        scene.until_denied("web-2").await?;
        served.go().await?;
    }
    nothing_is_withdrawn(&scene).await?;
    have_it_ask_again(&scene).await?;
    scene.until_updated(3).await?;
    let ran = images(&scene).await?;
    ensure!(ran == ["example/main:2"; 3], "{ran:?}");
    stage.barriers.open(&scene.namespace);
    // The guard is installed, so the controller trusts the staged change.
    scene.until_complete(3, "2Gi").await?;
    scene.controller = None;
    Ok(())
}

/// A withdrawal that reaches no policy is removed again, or a later edit would execute it.
async fn nothing_is_withdrawn(scene: &Scene<'_>) -> anyhow::Result<()> {
    let revision = scene.staged_change().await?["revision"].clone();
    // The status of the StatefulSet is written meanwhile, again and again.
    let answered = eventually("an answer", PATIENCE, async || {
        let output = run(scene, &["withdraw", "web"], "").await?;
        Ok((!output.stderr.contains("has been modified")).then_some(output))
    });
    let output = answered.await?;
    let message = "error: nothing was withdrawn: expected the policy to take the annotation claim-rollout.io/withdraw";
    ensure!(
        output.code == Some(1) && output.stderr.starts_with(message),
        "{output:?}"
    );
    let annotations = &scene.set().await?["metadata"]["annotations"];
    ensure!(annotations.get("claim-rollout.io/withdraw").is_none(), "{annotations}");
    ensure!(
        scene.staged_change().await?["revision"] == revision,
        "it is staged still"
    );
    Ok(())
}

/// Any event makes the StatefulSet controller try again. It may have done so by itself, and reached this Pod.
async fn have_it_ask_again(scene: &Scene<'_>) -> anyhow::Result<()> {
    let output = scene
        .kubectl(&["annotate", "pod", "web-0", "example.com/note=hello"], "")
        .await?;
    ensure!(output.success || output.stderr.contains("NotFound"), "{output:?}");
    Ok(())
}

pub(super) async fn without_both_it_is_a_plain_statefulset(stage: &Stage) -> anyhow::Result<()> {
    let mut scene = Scene::with_set(stage, "stopped-without-both", 3).await?;
    in_the_middle_apart(stage, &mut scene).await?;
    have_it_ask_again(&scene).await?;
    scene.until_updated(3).await?;
    scene.done(&["scale", "statefulset", "web", "--replicas=2"], "").await?;
    scene.until_ready(2).await?;
    let image = ["set", "image", "statefulset/web", "main=example/main:3"];
    scene.done(&image, "").await?;
    scene.until_updated(2).await?;
    let ran = images(&scene).await?;
    ensure!(ran == ["example/main:3"; 2], "{ran:?}");
    let count = scene.writes_since(0).await?.count();
    ensure!(count.claims.is_empty() && count.changes == 0, "{count:?}");
    Ok(())
}

async fn in_the_middle_apart(stage: &Stage, scene: &mut Scene<'_>) -> anyhow::Result<()> {
    stage.barriers.hold_claim(&scene.namespace, "data-web-2");
    let served = Served::start(stage, scene, &json!({})).await?;
    scene.target(&with_image(&manifest(3, "2Gi"), "2")).await?;
    let held = stage.barriers.until_held(&scene.namespace).await;
    held.with_context(|| scene.log())?;
    scene.until_denied("web-2").await?;
    served.go().await?;
    drop(served);
    if let Some(controller) = &mut scene.controller {
        controller.kill()?;
    }
    stage.barriers.open_for_others(&scene.namespace);
    Ok(())
}

//! The driver says no.

use anyhow::ensure;
use serde_json::Value;

use super::scene::{Scene, Stage, condition, manifest, text, with_class};
use crate::cluster::Driver;

const GIB: u64 = 1 << 30;

/// A set of two with volumes of at most 2Gi, and a wish for more.
async fn too_much<'a>(scene: Scene<'a>, stage: &'a Stage, extra: &[&str]) -> anyhow::Result<Scene<'a>> {
    let mut scene = scene;
    scene.make_class(&at_most(2), true).await?;
    scene.start_controller(stage, extra).await?;
    scene.wish(&of(&scene, "1Gi")).await?;
    scene.settled().await?;
    scene.wish(&of(&scene, "5Gi")).await?;
    let rollout = scene.until_reported("the driver's answer", is_infeasible).await?;
    let stalled = &rollout["status"]["conditions"][2];
    ensure!(condition(&rollout, "Stalled") == "True", "{rollout:#}");
    let why = text(&stalled["message"]);
    ensure!(
        why.starts_with("data-web-1: ") && why.contains("is more than the largest"),
        "{why}"
    );
    scene.until_told("ClaimExpansionFailed").await?;
    let count = scene.writes_since(0).await?.count();
    ensure!(count.claims == ["data-web-1"] && count.records == 0, "{count:?}");
    Ok(scene)
}

fn at_most(gib: u64) -> Driver {
    Driver {
        maximum_bytes: gib * GIB,
        ..Driver::default()
    }
}

fn of(scene: &Scene<'_>, size: &str) -> String {
    with_class(&manifest(2, size), &scene.namespace)
}

fn is_infeasible(rollout: &Value) -> bool {
    let (first, stalled) = (&rollout["status"]["claims"][0], &rollout["status"]["conditions"][2]);
    first["state"] == "Infeasible" && stalled["reason"] == "ClaimInfeasible"
}

pub(super) async fn when_the_driver_can_after_all_the_rollout_goes_on_and_nothing_is_lowered(
    stage: &Stage,
) -> anyhow::Result<()> {
    let scene = Scene::new(&stage.cluster, &stage.client, "infeasible").await?;
    let scene = too_much(scene, stage, &[]).await?;
    let smaller = scene.kubectl(&["apply", "-f", "-"], &of(&scene, "2Gi")).await?;
    ensure!(
        !smaller.success && smaller.stderr.contains("cannot shrink"),
        "{smaller:?}"
    );
    stage.cluster.set_driver_of(&scene.namespace, &at_most(8))?;
    scene.until_complete(2, "5Gi").await?;
    let written = scene.writes_since(0).await?;
    written.claims_follow_one_another(&["data-web-1", "data-web-0"])?;
    written.is_a_rollout(&["data-web-1", "data-web-0"], 0, 0)
}

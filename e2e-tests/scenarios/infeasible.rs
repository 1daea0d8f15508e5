//! The driver returns an error.

use anyhow::ensure;
use serde_json::{Value, json};

use super::scene::{Scene, Stage, condition, manifest, text, with_class};
use super::served::Served;
use crate::cluster::Driver;

const GIB: u64 = 1 << 30;

/// Asks for more than the driver's maximum of 2Gi, and waits until the user sees the error of the driver.
async fn too_much(scene: &Scene<'_>) -> anyhow::Result<()> {
    scene.target(&of(scene, "5Gi")).await?;
    let rollout = scene.until_reported("the driver's answer", is_infeasible).await?;
    let stalled = &rollout["status"]["conditions"][2];
    ensure!(condition(&rollout, "Stalled") == "True", "{rollout:#}");
    let why = text(&stalled["message"]);
    ensure!(
        why.starts_with("data-web-1: ") && why.contains("is more than the largest"),
        "{why}"
    );
    scene.until_event("ClaimExpansionFailed").await?;
    let count = scene.writes_since(0).await?.count();
    ensure!(count.claims == ["data-web-1"] && count.changes == 0, "{count:?}");
    Ok(())
}

/// A StatefulSet of two with volumes of this behaviour, and a controller with these arguments.
async fn scene<'a>(stage: &'a Stage, name: &str, driver: &Driver, extra: &[&str]) -> anyhow::Result<Scene<'a>> {
    let mut scene = Scene::new(&stage.cluster, &stage.client, name).await?;
    scene.make_class(driver, true).await?;
    scene.start_controller(stage, extra).await?;
    scene.target(&of(&scene, "1Gi")).await?;
    scene.settled().await?;
    Ok(scene)
}

/// A file with the settings of the policy in that namespace.
fn recover(stage: &Stage) -> anyhow::Result<String> {
    let file = stage.cluster.folder().join("recover.yaml");
    std::fs::write(&file, "shrink: Recover\n")?;
    file.into_os_string()
        .into_string()
        .map_err(|_| anyhow::anyhow!("a path in UTF-8"))
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

pub(super) async fn driver_recovers_rollout_continues_and_nothing_is_lowered(stage: &Stage) -> anyhow::Result<()> {
    let scene = scene(stage, "infeasible", &at_most(2), &[]).await?;
    too_much(&scene).await?;
    let smaller = scene.kubectl(&["apply", "-f", "-"], &of(&scene, "2Gi")).await?;
    ensure!(
        !smaller.success && smaller.stderr.contains("cannot shrink"),
        "{smaller:?}"
    );
    stage.cluster.set_driver_of(&scene.namespace, &at_most(8))?;
    scene.until_complete(2, "5Gi").await?;
    let written = scene.writes_since(0).await?;
    written.claims_follow_one_another(&["data-web-1", "data-web-0"])?;
    written.is_a_rollout(&["data-web-1", "data-web-0"], 0)
}

/// The smaller size is above the capacity of each PVC, and below the size that the first PVC asked for.
pub(super) async fn recover_smaller_target_lowers_growth_never_reached(stage: &Stage) -> anyhow::Result<()> {
    let mut scene = scene(stage, "recover", &at_most(2), &["--settings", &recover(stage)?]).await?;
    scene.exceptions.recovers = true;
    let _served = Served::start(stage, &scene, &json!({"shrink": "Recover"})).await?;
    too_much(&scene).await?;
    let pods = scene.pods().await?;
    let output = scene.target(&of(&scene, "2Gi")).await?;
    ensure!(output.stderr.contains("staged data 5Gi -> 2Gi"), "{output:?}");
    scene.until_complete(2, "2Gi").await?;
    ensure!(scene.pods().await? == pods, "Pods restarted");
    let count = scene.writes_since(0).await?.count();
    ensure!(
        count.claims == ["data-web-1", "data-web-1", "data-web-0"] && count.changes == 1,
        "{count:?}"
    );
    let requests = scene.claims().await?;
    let requests: Vec<_> = requests
        .iter()
        .map(|claim| &claim["spec"]["resources"]["requests"]["storage"])
        .collect();
    ensure!(requests == [&json!("2Gi"), &json!("2Gi")], "{requests:?}");

    // A size that was reached is never lowered.
    let smaller = scene.kubectl(&["apply", "-f", "-"], &of(&scene, "1536Mi")).await?;
    ensure!(!smaller.success && smaller.stderr.contains("data"), "{smaller:?}");
    Ok(())
}

/// Of three PVCs the highest has reached the target when the driver starts to fail; the next has not, and the lowest
/// was not written. The API server accepts only sizes above the capacity.
pub(super) async fn recover_withdrawal_lowers_growth_not_reached(stage: &Stage) -> anyhow::Result<()> {
    let mut scene = Scene::new(&stage.cluster, &stage.client, "stopped-taken-back").await?;
    scene.make_class(&at_most(8), true).await?;
    scene.start_controller(stage, &["--settings", &recover(stage)?]).await?;
    scene.exceptions.recovers = true;
    let of = |size: &str| with_class(&manifest(3, size), "stopped-taken-back");
    scene.target(&of("1Gi")).await?;
    scene.settled().await?;
    let _served = Served::start(stage, &scene, &json!({"shrink": "Recover"})).await?;
    stage.barriers.hold_claim("stopped-taken-back", "data-web-1");
    scene.target(&of("5Gi")).await?;
    stage.barriers.until_held("stopped-taken-back").await?;
    stage.cluster.set_driver_of("stopped-taken-back", &at_most(2))?;
    stage.barriers.open("stopped-taken-back");
    scene.until_reported("the driver's answer", is_infeasible).await?;

    let pods = scene.pods().await?;
    let revision = text(&scene.staged_change().await?["revision"]);
    let withdraw = format!("claim-rollout.io/withdraw={revision}");
    let output = scene.done(&["annotate", "statefulset", "web", &withdraw], "").await?;
    let warning = "withdrew data 1Gi -> 5Gi; what claims have not reached of it is taken back";
    ensure!(output.stderr.contains(warning), "{output:?}");
    let end = |rollout: &Value| rollout["status"]["conditions"][0]["reason"] == "NothingStaged";
    scene.until_reported("the end", end).await?;
    let annotations = scene.set().await?["metadata"]["annotations"].clone();
    for key in ["staged", "phase", "ready", "withdraw"] {
        let left = &annotations[format!("claim-rollout.io/{key}")];
        ensure!(*left == Value::Null, "{key}: {left}");
    }
    let requests: Vec<String> = scene
        .claims()
        .await?
        .iter()
        .map(|claim| text(&claim["spec"]["resources"]["requests"]["storage"]))
        .collect();
    ensure!(requests == ["1Gi", "1025Mi", "5Gi"], "{requests:?}");
    ensure!(scene.pods().await? == pods, "Pods restarted");
    let count = scene.writes_since(0).await?.count();
    let claims = ["data-web-2", "data-web-1", "data-web-2", "data-web-1", "data-web-0"];
    ensure!(count.claims == claims && count.changes == 2, "{count:?}");
    Ok(())
}

/// The volume is in use: the resizer tries again when no Pod uses it.
pub(super) async fn driver_that_retries_stalls_nothing_and_is_quoted_once(stage: &Stage) -> anyhow::Result<()> {
    let driver = Driver {
        expand_error: Some("FAILED_PRECONDITION"),
        ..Driver::default()
    };
    let scene = scene(stage, "in-use", &driver, &[]).await?;
    let begun = scene.mark().await?;
    scene.target(&of(&scene, "2Gi")).await?;
    let is_quoted = |rollout: &Value| {
        let first = &rollout["status"]["claims"][0];
        first["state"] == "Expanding" && text(&first["message"]).contains("FailedPrecondition")
    };
    scene.until_reported("the driver's answer", is_quoted).await?;
    let statuses = scene.writes_since(begun).await?.count().statuses;
    tokio::time::sleep(std::time::Duration::from_secs(8)).await;
    let count = scene.writes_since(begun).await?.count();
    let events = scene.events().await?;
    ensure!(count.statuses <= statuses + 1, "{statuses}, and then {count:?}");
    ensure!(!events.contains_key("ClaimExpansionFailed"), "{events:?}");
    ensure!(
        condition(&scene.rollout().await?, "Stalled") == "False",
        "it is tried again"
    );
    Ok(())
}

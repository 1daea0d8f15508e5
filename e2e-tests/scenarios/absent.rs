//! The policy is taken away in the middle of a rollout, and comes back.

use anyhow::{Context as _, ensure};
use claim_rollout::templates::Record;
use serde_json::{Value, json};

use super::scene::{STAGED, Scene, Stage, condition, manifest, text};
use super::served::Served;

/// Writes the record as anybody can who may edit the set.
async fn forge(scene: &Scene<'_>, record: &str) -> anyhow::Result<()> {
    let annotation = format!("{STAGED}={record}");
    scene
        .done(&["annotate", "statefulset", "web", &annotation, "--overwrite"], "")
        .await?;
    Ok(())
}

pub(super) async fn without_the_policy_what_is_staged_is_rolled_out_and_what_is_forged_is_not(
    stage: &Stage,
) -> anyhow::Result<()> {
    let scene = Scene::with_set(stage, "gated-absent", 3).await?;
    let served = Served::start(stage, &scene, &json!({})).await?;
    stage.gates.hold_claim(&scene.namespace, "data-web-1");
    scene.apply(3, "2Gi").await?;
    let held = stage.gates.until_held(&scene.namespace).await;
    held.with_context(|| scene.log())?;
    served.go().await?;

    // The same again is what it is on a stock cluster; a new claim is born as the live template says, and repaired.
    let again = scene.kubectl(&["apply", "-f", "-"], &manifest(3, "2Gi")).await?;
    // Which of the two refusals it is depends on the minor.
    ensure!(!again.success && again.stderr.contains("is invalid: spec"), "{again:?}");
    scene.done(&["scale", "statefulset", "web", "--replicas=4"], "").await?;
    stage.gates.open(&scene.namespace);
    scene.until_ready(4).await?;
    scene.until_complete(4, "2Gi").await?;
    let written = scene.writes_since(0).await?;
    let mut claims = written.count().claims;
    ensure!(claims[..2] == ["data-web-2", "data-web-1"], "{claims:?}");
    claims.sort();
    ensure!(
        claims == ["data-web-0", "data-web-1", "data-web-2", "data-web-3"],
        "{claims:?}"
    );

    let begun = scene.mark().await?;
    let honest = text(&scene.set().await?["metadata"]["annotations"][STAGED]);
    let uid = text(&scene.set().await?["metadata"]["uid"]);
    forge(&scene, &honest.replace("2Gi", "9Gi")).await?;
    scene
        .until_reported("no record", |rollout| {
            rollout["status"]["conditions"][0]["reason"] != "Complete"
        })
        .await?;
    let mut smaller = Record::read(&honest, &uid)?;
    smaller.templates[0].storage = Some("512Mi".parse()?);
    forge(&scene, &smaller.write()?).await?;
    let rollout = scene
        .until_reported("the forgery", |rollout| {
            rollout["status"]["conditions"][2]["reason"] == "RecordUnsound"
        })
        .await?;
    ensure!(condition(&rollout, "Stalled") == "True", "{rollout:#}");
    let stalled = text(&rollout["status"]["conditions"][2]["message"]);
    ensure!(stalled.contains("cannot shrink"), "{stalled}");
    let count = scene.writes_since(begun).await?.count();
    ensure!(count.claims.is_empty() && count.records == 0, "{count:?}");

    served.come().await?;
    scene.apply(4, "2Gi").await?;
    scene.until_complete(4, "2Gi").await?;
    let count = scene.writes_since(begun).await?.count();
    ensure!(count.claims.is_empty(), "there was nothing to do: {count:?}");
    ensure!(scene.record().await? != Value::Null, "nothing is staged");
    Ok(())
}

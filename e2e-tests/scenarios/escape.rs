//! The user stops the rollout in the middle.

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::scene::{Scene, Stage, manifest, text, with_image};

/// A StatefulSet of three whose image and size change; the write of this PVC is held.
async fn in_the_middle<'a>(stage: &'a Stage, namespace: &str, claim: &str) -> anyhow::Result<Scene<'a>> {
    let scene = Scene::with_set(stage, namespace, 3).await?;
    stage.barriers.hold_claim(namespace, claim);
    scene.target(&with_image(&manifest(3, "2Gi"), "2")).await?;
    let held = stage.barriers.until_held(namespace).await;
    held.with_context(|| scene.log())?;
    Ok(scene)
}

async fn sizes(scene: &Scene<'_>) -> anyhow::Result<Vec<String>> {
    let claims = scene.claims().await?;
    let sizes = claims
        .iter()
        .map(|claim| &claim["spec"]["resources"]["requests"]["storage"]);
    Ok(sizes.map(text).collect())
}

/// True iff the ClaimRollout reports this many replicas and updated ones, and this number of lagging PVCs.
fn lags(rollout: &Value, [replicas, updated]: [i64; 2], lag: &str) -> bool {
    let status = &rollout["status"];
    let counted = status["replicas"] == replicas && status["updatedReplicas"] == updated;
    let by_template = status["volumeClaimTemplates"][0]["updatedReplicas"] == updated;
    let message = text(&status["conditions"][0]["message"]);
    counted && by_template && message.ends_with(&format!("; {lag} have older templates"))
}

pub(super) async fn switch_to_on_claim_delete_opens_gate_without_controller(stage: &Stage) -> anyhow::Result<()> {
    let mut scene = in_the_middle(stage, "stopped-escape", "data-web-2").await?;
    if let Some(controller) = &mut scene.controller {
        controller.kill()?;
    }
    stage.barriers.open_for_others("stopped-escape");
    scene.until_denied("web-2").await?;
    let policy = "claim-rollout.io/update-policy=OnClaimDelete";
    scene
        .done(&["annotate", "statefulset", "web", policy, "--overwrite"], "")
        .await?;
    let set = scene.settled().await?;
    ensure!(set["status"]["updatedReplicas"] == 3, "{set:#}");

    scene.start_controller(stage, &[]).await?;
    scene
        .until_reported("the policy", |rollout| {
            rollout["status"]["conditions"][0]["reason"] == "OnClaimDelete"
        })
        .await?;
    scene
        .until_reported("the lag", |rollout| lags(rollout, [3, 0], "3 of 3 PVCs"))
        .await?;
    let asked = sizes(&scene).await?;
    ensure!(asked == ["1Gi"; 3], "a claim was written: {asked:?}");
    // A PVC is counted as soon as it exists.
    scene.done(&["scale", "statefulset", "web", "--replicas=4"], "").await?;
    scene
        .until_reported("a newcomer", |rollout| lags(rollout, [4, 1], "3 of 4 PVCs"))
        .await?;
    ensure!(sizes(&scene).await? == ["1Gi", "1Gi", "1Gi", "2Gi"], "the newcomer");
    let count = scene.writes_since(0).await?.count();
    let nothing: Vec<String> = Vec::new();
    ensure!(
        (count.claims, count.nudges, count.changes) == (nothing, 0, 0),
        "the policy alone did it"
    );
    Ok(())
}

pub(super) async fn withdrawal_during_rollout_releases_pods_and_lowers_no_claim(stage: &Stage) -> anyhow::Result<()> {
    let scene = in_the_middle(stage, "stopped-withdrawn", "data-web-1").await?;
    let revision = text(&scene.staged_change().await?["revision"]);
    let withdraw = format!("claim-rollout.io/withdraw={revision}");
    let output = scene.done(&["annotate", "statefulset", "web", &withdraw], "").await?;
    ensure!(output.stderr.contains("claim-rollout"), "{output:?}");
    ensure!(scene.staged_change().await? == Value::Null, "it is still staged");
    stage.barriers.open(&scene.namespace);
    let set = scene.settled().await?;
    ensure!(set["status"]["updatedReplicas"] == 3, "{set:#}");
    scene
        .until_reported("the end", |rollout| {
            rollout["status"]["conditions"][0]["reason"] == "Withdrawn"
        })
        .await?;
    scene.until_event("ClaimRolloutWithdrawn").await?;
    // The write of the second PVC was in progress: it was stored, or overtaken by the Pod of the PVC.
    let sizes = sizes(&scene).await?;
    ensure!(sizes[0] == "1Gi" && sizes[2] == "2Gi", "{sizes:?}");
    let count = scene.writes_since(0).await?.count();
    ensure!(
        ["data-web-2", "data-web-1"].starts_with(&count.claims.iter().map(String::as_str).collect::<Vec<_>>())
            && count.changes == 0,
        "{count:?}"
    );
    Ok(())
}

//! The policy does not know the account of the controller, and reverts its writes.

use anyhow::ensure;
use serde_json::json;

use super::scene::{Scene, Stage, condition, text};
use super::served::Served;

pub(super) async fn controller_with_unknown_account_stalls_with_a_reason(stage: &Stage) -> anyhow::Result<()> {
    let mut scene = Scene::with_set(stage, "undone", 2).await?;
    scene.exceptions.undone = true;
    let stranger = json!({"controllerAccounts": ["system:serviceaccount:elsewhere:claim-rollout-controller"]});
    let served = Served::start(stage, &scene, &stranger).await?;
    scene.apply(2, "2Gi").await?;
    let rollout = scene
        .until_reported("the write that was put back", |rollout| {
            rollout["status"]["conditions"][2]["reason"] == "WriteUndone"
        })
        .await?;
    ensure!(condition(&rollout, "Stalled") == "True", "{rollout:#}");
    let why = text(&rollout["status"]["conditions"][2]["message"]);
    ensure!(why.contains("controllerAccounts"), "{why}");
    let claims = scene.writes_since(0).await?.count().claims;
    ensure!(claims == ["data-web-1", "data-web-0"], "{claims:?}");

    // The controller reconciles after every change of the StatefulSet, and never writes again.
    let begun = scene.mark().await?;
    for count in 0..20 {
        let note = format!("note={count}");
        scene
            .done(&["label", "statefulset", "web", &note, "--overwrite"], "")
            .await?;
    }
    let changes = scene.writes_since(begun).await?.count().changes;
    ensure!(changes < 10, "{changes} writes for 20 changes");

    served.go().await?;
    let _known = Served::start(stage, &scene, &json!({})).await?;
    scene.until_complete(2, "2Gi").await
}

//! Policy objects whose settings differ from those of the controller.

use anyhow::ensure;

use super::Stage;
use crate::cluster::eventually;
use crate::installation::manifest_applied;
use crate::quick_start::kubewarden;
use crate::scenarios::scene::{PATIENCE, Scene};

pub(super) async fn policy_object_with_other_setting_is_reported(stage: &Stage) -> anyhow::Result<()> {
    kubewarden::define(&stage.cluster).await?;
    manifest_applied(&stage.cluster, "policy.yaml").await?;
    let mut scene = Scene::new(&stage.cluster, &stage.client, "settings").await?;
    let other = r#"{"spec": {"settings": {"shrink": "Recover", "mode": "Stage"}}}"#;
    let patch = [
        "patch",
        "clusteradmissionpolicy",
        "claim-rollout",
        "--type=merge",
        "-p",
        other,
    ];
    scene.done(&patch, "").await?;

    let controller = stage
        .installation
        .start_controller(&["--namespace", "settings"])
        .await?;
    let counted = eventually("the difference to be counted", PATIENCE, async || {
        let (_, metrics) = controller.get("/metrics")?;
        Ok(metrics
            .lines()
            .any(|line| line == "claim_rollout_settings_differ 1")
            .then_some(()))
    });
    let counted = counted.await;
    scene.controller = Some(controller);
    ensure!(
        counted.is_ok()
            && scene
                .log()
                .contains("claim-rollout: shrink: expected Deny, but found Recover"),
        "{}",
        scene.log()
    );
    scene.done(&["delete", "clusteradmissionpolicies", "--all"], "").await?;
    Ok(())
}

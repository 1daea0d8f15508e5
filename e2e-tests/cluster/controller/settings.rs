//! Policy objects whose settings differ from those of the controller.

use anyhow::ensure;

use crate::cluster::quick_start::kubewarden;
use crate::world::installation::manifest_applied;
use crate::world::namespace::PATIENCE;
use crate::world::{World, eventually};

pub(super) async fn policy_object_with_other_setting_is_reported(env: &World) -> anyhow::Result<()> {
    kubewarden::define(&env.cluster).await?;
    manifest_applied(&env.cluster, "policy.yaml").await?;
    let mut ns = env.namespace("settings").await?;
    // The controllers of these tests run without settings, so the object is to differ in one only.
    let other = r#"{"spec": {"settings": {"defaultUpdatePolicy": null, "shrink": "Recover", "mode": "Stage"}}}"#;
    ns.typed(&format!(
        "patch clusteradmissionpolicy claim-rollout --type=merge -p '{other}'"
    ))
    .await?;

    let controller = env.controllers.start(&["--namespace", "settings"]).await?;
    let counted = eventually("the difference to be counted", PATIENCE, async || {
        let (_, metrics) = controller.get("/metrics")?;
        Ok(metrics
            .lines()
            .any(|line| line == "claim_rollout_settings_differ 1")
            .then_some(()))
    });
    let counted = counted.await;
    ns.controller = Some(controller);
    ensure!(
        counted.is_ok()
            && ns
                .log()
                .contains("claim-rollout: shrink: expected Deny, but found Recover"),
        "{}",
        ns.log()
    );
    ns.typed("delete clusteradmissionpolicies --all").await?;
    Ok(())
}

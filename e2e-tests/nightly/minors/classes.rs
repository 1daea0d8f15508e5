//! Rollouts that not every minor version can do.

use anyhow::ensure;
use serde_json::Value;

use crate::cluster::commands::plans;
use crate::world::namespace::{condition, text};
use crate::world::web::Web;
use crate::world::{ATTRIBUTES_CLASSES, Driver, World};

/// The manifest with a VolumeAttributesClass.
fn classed() -> Web {
    Web::replicas(1).attributes_class(ATTRIBUTES_CLASSES[0])
}

/// How the rollout ends: `completes`, or with which reason the PVC is refused.
pub(super) async fn rollout(env: &World) -> anyhow::Result<String> {
    let ns = env.managed("minors-rollout").await?;
    ns.target(&Web::replicas(1)).await?;
    ns.until_ready(1).await?;
    ns.target(&classed()).await?;
    let ended = |rollout: &Value| condition(rollout, "Ready") == "True" || condition(rollout, "Stalled") == "True";
    let rollout = ns.until_reported("the end", ended).await?;
    if condition(&rollout, "Ready") == "True" {
        let claim = &ns.claims().await?[0];
        let current = &claim["status"]["currentVolumeAttributesClassName"];
        ensure!(*current == ATTRIBUTES_CLASSES[0], "{claim:#}");
        return Ok("completes".to_owned());
    }
    Ok(text(&rollout["status"]["claims"][0]["reason"]))
}

/// Whether the plan is to update the PVC, or what it names.
pub(super) async fn plan(env: &World) -> anyhow::Result<String> {
    let ns = env.namespace("minors-plan").await?;
    ns.target(&Web::replicas(1)).await?;
    ns.until_ready(1).await?;
    let (_, item) = plans::plan(&ns, &classed()).await?;
    ensure!(item["notes"].as_array().is_none_or(Vec::is_empty), "{item:#}");
    let claim = &item["claims"][0];
    Ok(match claim["obstacles"][0].as_str() {
        Some(obstacle) => obstacle.to_owned(),
        None => text(&claim["action"]).to_lowercase() + "s the PVC",
    })
}

/// Whether a user may lower the request of a PVC that did not grow, without claim-rollout.
pub(super) async fn lowered(env: &World) -> anyhow::Result<String> {
    const LIMIT: u64 = 3 << 30;
    let ns = env.namespace("minors-lowered").await?;
    let driver = Driver {
        maximum_bytes: LIMIT,
        ..Driver::default()
    };
    ns.make_class(&driver, true).await?;
    ns.target(&Web::replicas(1).plain().class(&ns.namespace)).await?;
    ns.until_ready(1).await?;
    let resize = async |size: &str| {
        let patch = format!(r#"{{"spec": {{"resources": {{"requests": {{"storage": "{size}"}}}}}}}}"#);
        ns.kubectl(&["patch", "pvc", "data-web-0", "--patch", &patch], "").await
    };
    let larger = resize("5Gi").await?;
    ensure!(larger.success, "{larger:?}");
    let state = |claim: &Value| claim["status"]["allocatedResourceStatuses"]["storage"].clone();
    ns.until("the growth to fail", "pvc/data-web-0", |claim| {
        state(claim) == "ControllerResizeInfeasible"
    })
    .await?;
    let answer = resize("2Gi").await?;
    if !answer.success {
        return Ok("refused".to_owned());
    }
    ns.until_all("the smaller growth", "pvc", |claims| {
        claims[0]["status"]["capacity"]["storage"] == "2Gi"
    })
    .await?;
    Ok("accepted".to_owned())
}

//! Why a PVC takes long.

use anyhow::ensure;
use serde_json::Value;

use crate::world::namespace::{condition, text};
use crate::world::web::Web;
use crate::world::{Driver, World};

/// Changes the driver of all PVCs, so this scenario runs alone.
pub(super) async fn driver_error_of_slow_claim_is_in_the_claimrollout(env: &World) -> anyhow::Result<()> {
    let ns = env.managed("inquire").await?;
    ns.target(&Web::replicas(1)).await?;
    ns.until_ready(1).await?;
    // The resizer sets no condition on the PVC for an error that may pass.
    let driver = Driver {
        expand_error: Some("UNAVAILABLE"),
        ..Driver::default()
    };
    env.cluster.set_driver(&driver)?;
    ns.target(&Web::replicas(1).size("2Gi")).await?;
    let message = |rollout: &Value| text(&rollout["status"]["claims"][0]["message"]);
    let cause = "the test wants the expansion to fail with Unavailable";
    let rollout = ns
        .until_reported("the cause", |rollout| message(rollout).contains(cause))
        .await?;
    let message = message(&rollout);
    ensure!(
        message.starts_with("capacity 1Gi of 2Gi; VolumeResizeFailed: "),
        "{message}"
    );
    ensure!(rollout["status"]["claims"][0]["state"] == "Expanding", "{rollout:#}");
    ensure!(condition(&rollout, "Stalled") == "False", "{rollout:#}");
    env.cluster.set_driver(&Driver::default())?;
    ns.until_complete(1, "2Gi").await
}

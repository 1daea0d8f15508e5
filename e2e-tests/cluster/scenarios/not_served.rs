//! A kind that the controller is to watch, and that the API server does not serve.

use anyhow::ensure;

use crate::world::World;
use crate::world::web::Web;

/// OpenKruise is not installed yet.
pub(super) async fn openkruise_is_awaited_and_other_sets_roll_out(env: &World) -> anyhow::Result<()> {
    let mut ns = env.namespace("not-served").await?;
    ns.start_controller(env, &["--openkruise"]).await?;
    ns.target(&Web::replicas(2)).await?;
    ns.settled().await?;
    let begun = ns.mark().await?;
    ns.apply(2, "2Gi").await?;
    ns.until_complete(2, "2Gi").await?;
    let failed = "watch failed, restarting resource=\"statefulsets.apps.kruise.io\"";
    ensure!(ns.log().contains(failed), "{}", ns.log());
    let written = ns.writes_since(begun).await?;
    written.is_a_rollout(&["data-web-1", "data-web-0"], 0)
}

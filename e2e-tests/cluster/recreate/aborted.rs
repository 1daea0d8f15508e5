//! A rollout that its user stops.

use claim_rollout::templates::keys;
use serde_json::Value;

use crate::cluster::recreate::trial::{OTHER, anew, start, stays, until_next_second};
use crate::world::namespace::{label, text};
use crate::world::{EXPANDABLE, World};

/// The right to delete PVCs is missing, so that a mark is written, and no deletion follows. A pause takes the mark off,
/// and so does a withdrawal: whoever deletes the PVC later does not mean us.
pub(super) async fn mark_goes_with_a_pause_and_with_the_withdrawal(env: &World) -> anyhow::Result<()> {
    let mut ns = env.namespace("stopped-marked").await?;
    ns.excepts(|but| but.recreates = true);
    let role = ["create", "role", "evict", "--verb=create", "--resource=pods/eviction"];
    ns.done(&role, "").await?;
    ns.let_controller("--role=evict").await?;
    start(env, &mut ns, true).await?;
    ns.target(&anew(2, EXPANDABLE, "1Gi")).await?;
    ns.settled().await?;
    until_next_second(&ns).await?;
    let is_marked = async |expected: &str| {
        let what = format!("the mark {expected:?}");
        let is_marked = |claim: &Value| text(&claim["metadata"]["annotations"][keys::RECREATED_FOR]) == expected;
        ns.until(&what, "pvc/data-web-1", is_marked).await.map(drop)
    };
    ns.target(&anew(2, OTHER, "1Gi")).await?;
    let mark = label(&ns.staged_change().await?);
    let denied = "failed to delete data-web-1: persistentvolumeclaims \"data-web-1\" is forbidden";
    ns.until_reason("ReCreateStopped", denied).await?;
    is_marked(&mark).await?;

    let paused = |value: &str| format!("claim-rollout.io/paused{value}");
    ns.done(&["annotate", "statefulset", "web", &paused("=true")], "")
        .await?;
    is_marked("").await?;
    ns.done(&["annotate", "statefulset", "web", &paused("-")], "").await?;
    is_marked(&mark).await?;

    ns.target(&anew(2, EXPANDABLE, "1Gi")).await?;
    is_marked("").await?;
    ns.until_reason("Withdrawn", "").await?;
    stays(&ns, &[]).await
}

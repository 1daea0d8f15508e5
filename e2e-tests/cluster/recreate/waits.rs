//! Nothing is deleted while another Pod is not Ready, the budget allows no eviction, or a right or the flag is missing.

use serde_json::json;

use crate::cluster::recreate::trial::{OTHER, allow, anew, make_ready, prepare, start, stays, until_complete};
use crate::world::{EXPANDABLE, World};

pub(super) async fn nothing_is_deleted_while_another_pod_is_not_ready(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "unready", &anew(3, EXPANDABLE, "1Gi")).await?;
    make_ready(&ns, "web-0", "=false").await?;
    ns.until_ready(2).await?;
    ns.target(&anew(3, OTHER, "1Gi")).await?;
    ns.until_reason("RollingOut", "web-2 waits to be re-created: Pod web-0 is not Ready")
        .await?;
    stays(&ns, &[]).await?;
    make_ready(&ns, "web-0", "-").await?;
    until_complete(&ns, 3, OTHER, "1Gi").await
}

pub(super) async fn nothing_is_deleted_while_the_budget_allows_no_eviction(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "budget", &anew(2, EXPANDABLE, "1Gi")).await?;
    let budget = json!({
        "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"},
        "spec": {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "web"}}},
    });
    ns.target(&budget).await?;
    ns.target(&anew(2, OTHER, "1Gi")).await?;
    let message = "web-1 waits to be re-created: no eviction now: 429 Cannot evict pod";
    ns.until_reason("RollingOut", message).await?;
    stays(&ns, &[]).await?;
    ns.done(&["delete", "pdb", "web"], "").await?;
    until_complete(&ns, 2, OTHER, "1Gi").await
}

pub(super) async fn nothing_is_deleted_without_the_rights_or_the_flag(env: &World) -> anyhow::Result<()> {
    let mut ns = env.namespace("rights").await?;
    ns.excepts(|but| but.recreates = true);
    start(env, &mut ns, false).await?;
    ns.target(&anew(2, EXPANDABLE, "1Gi")).await?;
    ns.settled().await?;
    ns.target(&anew(2, OTHER, "1Gi")).await?;
    ns.until_reason(
        "ReCreateNotEnabled",
        "the controller needs --recreate and the rights in deploy/recreate.yaml",
    )
    .await?;
    stays(&ns, &[]).await?;

    start(env, &mut ns, true).await?;
    let message = "web-1 is not re-created: failed to evict Pod web-1: pods \"web-1\" is forbidden";
    ns.until_reason("ReCreateStopped", message).await?;
    ns.until_reason("ReCreateStopped", "the rights are in deploy/recreate.yaml")
        .await?;
    stays(&ns, &[]).await?;

    // Only the eviction is allowed.
    let role = ["create", "role", "evict", "--verb=create", "--resource=pods/eviction"];
    ns.done(&role, "").await?;
    let account = "--serviceaccount=claim-rollout:claim-rollout-controller";
    ns.done(&["create", "rolebinding", "evict", "--role=evict", account], "")
        .await?;
    let message = "failed to delete data-web-1: persistentvolumeclaims \"data-web-1\" is forbidden";
    ns.until_reason("ReCreateStopped", message).await?;
    stays(&ns, &[]).await?;

    allow(&ns).await?;
    until_complete(&ns, 2, OTHER, "1Gi").await
}

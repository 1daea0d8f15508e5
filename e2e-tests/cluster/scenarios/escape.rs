//! The user stops the rollout in the middle.

use anyhow::ensure;
use serde_json::Value;

use super::held::held_at;
use crate::world::World;
use crate::world::namespace::{TestNamespace, text};
use crate::world::web::Web;

/// A StatefulSet of three whose image and size change; the write of this PVC is held.
async fn in_the_middle<'a>(env: &'a World, namespace: &str, claim: &str) -> anyhow::Result<TestNamespace<'a>> {
    let ns = env.with_set(namespace, 3).await?;
    held_at(env, &ns, claim, &Web::replicas(3).size("2Gi").image("2")).await?;
    Ok(ns)
}

/// True iff the ClaimRollout reports this many replicas and updated ones, and this number of lagging PVCs.
fn lags(rollout: &Value, [replicas, updated]: [i64; 2], lag: &str) -> bool {
    let status = &rollout["status"];
    let counted = status["replicas"] == replicas && status["updatedReplicas"] == updated;
    let by_template = status["volumeClaimTemplates"][0]["updatedReplicas"] == updated;
    let message = text(&status["conditions"][0]["message"]);
    counted && by_template && message.ends_with(&format!("; {lag} are outdated"))
}

pub(super) async fn switch_to_on_claim_delete_opens_gate_without_controller(env: &World) -> anyhow::Result<()> {
    let mut ns = in_the_middle(env, "stopped-escape", "data-web-2").await?;
    if let Some(controller) = &mut ns.controller {
        controller.kill()?;
    }
    env.barriers.open_for_others("stopped-escape");
    ns.until_denied("web-2").await?;
    let policy = "claim-rollout.io/update-policy=OnClaimDelete";
    ns.typed(&format!("annotate statefulset web {policy} --overwrite"))
        .await?;
    let set = ns.settled().await?;
    ensure!(set["status"]["updatedReplicas"] == 3, "{set:#}");

    ns.start_controller(env, &[]).await?;
    ns.until_reason("OnClaimDelete", "").await?;
    ns.until_reported("the lag", |rollout| lags(rollout, [3, 0], "3 of 3 PVCs"))
        .await?;
    let asked = ns.sizes().await?;
    ensure!(asked == ["1Gi"; 3], "a claim was written: {asked:?}");
    // A PVC is counted as soon as it exists.
    ns.typed("scale statefulset web --replicas=4").await?;
    ns.until_reported("a newcomer", |rollout| lags(rollout, [4, 1], "3 of 4 PVCs"))
        .await?;
    ensure!(ns.sizes().await? == ["1Gi", "1Gi", "1Gi", "2Gi"], "the newcomer");
    let count = ns.writes_since(0).await?.count();
    let nothing: Vec<String> = Vec::new();
    ensure!(
        (count.claims, count.nudges, count.changes) == (nothing, 0, 0),
        "the policy alone did it"
    );
    Ok(())
}

pub(super) async fn withdrawal_during_rollout_releases_pods_and_lowers_no_claim(env: &World) -> anyhow::Result<()> {
    let ns = in_the_middle(env, "stopped-withdrawn", "data-web-1").await?;
    let revision = text(&ns.staged_change().await?["revision"]);
    let withdraw = format!("claim-rollout.io/withdraw={revision}");
    let output = ns.typed(&format!("annotate statefulset web {withdraw}")).await?;
    ensure!(output.stderr.contains("claim-rollout"), "{output:?}");
    ensure!(ns.staged_change().await? == Value::Null, "it is still staged");
    env.barriers.open(&ns.namespace);
    let set = ns.settled().await?;
    ensure!(set["status"]["updatedReplicas"] == 3, "{set:#}");
    ns.until_reason("Withdrawn", "").await?;
    ns.until_event("ClaimRolloutWithdrawn").await?;
    // The write of the second PVC was in progress: it was stored, or overtaken by the Pod of the PVC.
    let sizes = ns.sizes().await?;
    ensure!(sizes[0] == "1Gi" && sizes[2] == "2Gi", "{sizes:?}");
    let count = ns.writes_since(0).await?.count();
    ensure!(
        ["data-web-2", "data-web-1"].starts_with(&count.claims.iter().map(String::as_str).collect::<Vec<_>>())
            && count.changes == 0,
        "{count:?}"
    );
    Ok(())
}

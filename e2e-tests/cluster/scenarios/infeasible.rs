//! The driver returns an error.

use anyhow::ensure;
use serde_json::{Value, json};

use crate::world::namespace::{TestNamespace, condition, text};
use crate::world::served::Served;
use crate::world::web::Web;
use crate::world::{Driver, World};

const GIB: u64 = 1 << 30;

/// Asks for more than the driver's maximum of 2Gi, and waits until the user sees the error of the driver.
async fn too_much(ns: &TestNamespace<'_>) -> anyhow::Result<()> {
    ns.target(&of(ns, "5Gi")).await?;
    let rollout = ns.until_reported("the driver's answer", is_infeasible).await?;
    let stalled = &rollout["status"]["conditions"][2];
    ensure!(condition(&rollout, "Stalled") == "True", "{rollout:#}");
    let why = text(&stalled["message"]);
    ensure!(
        why.starts_with("data-web-1: ") && why.contains("is more than the largest"),
        "{why}"
    );
    ns.until_event("ClaimExpansionFailed").await?;
    let count = ns.writes_since(0).await?.count();
    ensure!(count.claims == ["data-web-1"] && count.changes == 0, "{count:?}");
    Ok(())
}

/// A StatefulSet of two with volumes of this behaviour, and a controller with these arguments.
async fn prepare<'a>(env: &'a World, name: &str, driver: &Driver, extra: &[&str]) -> anyhow::Result<TestNamespace<'a>> {
    let mut ns = env.namespace(name).await?;
    ns.make_class(driver, true).await?;
    ns.start_controller(env, extra).await?;
    ns.target(&of(&ns, "1Gi")).await?;
    ns.settled().await?;
    Ok(ns)
}

/// A file with the settings of the policy in that namespace.
fn recover(env: &World) -> anyhow::Result<String> {
    env.cluster.write("recover.yaml", "shrink: Recover\n")
}

fn at_most(gib: u64) -> Driver {
    Driver {
        maximum_bytes: gib * GIB,
        ..Driver::default()
    }
}

fn of(ns: &TestNamespace<'_>, size: &str) -> Web {
    Web::replicas(2).size(size).class(&ns.namespace)
}

fn is_infeasible(rollout: &Value) -> bool {
    let (first, stalled) = (&rollout["status"]["claims"][0], &rollout["status"]["conditions"][2]);
    first["state"] == "Infeasible" && stalled["reason"] == "ClaimInfeasible"
}

pub(super) async fn driver_recovers_rollout_continues_and_nothing_is_lowered(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "infeasible", &at_most(2), &[]).await?;
    too_much(&ns).await?;
    let smaller = ns
        .done(&["apply", "--dry-run=server", "-f", "-"], &of(&ns, "2Gi"))
        .await?;
    ensure!(smaller.stderr.contains("no PVC shrinks"), "{smaller:?}");
    message_names_the_least_that_the_api_server_accepts(&ns).await?;
    env.cluster.set_driver_of(&ns.namespace, &at_most(8))?;
    ns.until_complete(2, "5Gi").await?;
    let written = ns.writes_since(0).await?;
    written.claims_follow_one_another(&["data-web-1", "data-web-0"])?;
    written.is_a_rollout(&["data-web-1", "data-web-0"], 0)
}

/// With `shrink: Deny`, the message asks for a patch of the PVC. The API server accepts its size, and none that is one
/// step smaller.
async fn message_names_the_least_that_the_api_server_accepts(ns: &TestNamespace<'_>) -> anyhow::Result<()> {
    let rollout = ns.rollout().await?;
    let message = text(&rollout["status"]["conditions"][2]["message"]);
    let change = "; withdraw the change, and let the PVC request at least 1025Mi";
    ensure!(
        message.starts_with("data-web-1: ") && message.ends_with(change),
        "{message}"
    );
    let patch = |size: &str| json!({"spec": {"resources": {"requests": {"storage": size}}}}).to_string();
    for (size, accepted) in [("1025Mi", true), ("1Gi", false)] {
        let patch = patch(size);
        let asked = ["patch", "pvc", "data-web-1", "--dry-run=server", "-p", &patch];
        let output = ns.kubectl(&asked, "").await?;
        ensure!(output.success == accepted, "{size}: {output:?}");
    }
    Ok(())
}

/// Neither the StatefulSet nor the ClaimRollout shows a complete rollout.
async fn is_not_complete(ns: &TestNamespace<'_>) -> anyhow::Result<()> {
    let (set, rollout) = (ns.set().await?, ns.rollout().await?);
    let phase = &set["metadata"]["annotations"]["claim-rollout.io/phase"];
    ensure!(*phase == "RollingOut", "{phase}");
    let reason = &rollout["status"]["conditions"][0]["reason"];
    ensure!(*reason != "Complete", "{rollout:#}");
    Ok(())
}

/// Somebody lowers a PVC in the middle of the rollout: that is reported, it is not written again, and the rollout ends when
/// somebody has raised it.
pub(super) async fn claim_lowered_by_hand_is_reported_and_not_written(env: &World) -> anyhow::Result<()> {
    let too_small = Driver {
        maximum_bytes: GIB + GIB / 2,
        ..Driver::default()
    };
    let ns = prepare(env, "lowered", &too_small, &[]).await?;
    ns.target(&of(&ns, "2Gi")).await?;
    ns.until_reported("the driver's answer", is_infeasible).await?;
    let size = |size: &str| json!({"spec": {"resources": {"requests": {"storage": size}}}}).to_string();
    ns.done(&["patch", "pvc", "data-web-1", "-p", &size("1025Mi")], "")
        .await?;
    let grown = "--for=jsonpath={.status.capacity.storage}=1025Mi";
    ns.typed(&format!("wait --timeout=120s {grown} pvc/data-web-1")).await?;
    let is_lowered = |rollout: &Value| {
        let first = &rollout["status"]["claims"][0];
        let of_claim = first["state"] == "Refused" && first["reason"] == "ChangedByOthers";
        of_claim && rollout["status"]["conditions"][2]["reason"] == "ClaimRefused"
    };
    ns.until_reported("the lowered PVC", is_lowered).await?;
    is_not_complete(&ns).await?;

    env.cluster.set_driver_of(&ns.namespace, &at_most(8))?;
    ns.done(&["patch", "pvc", "data-web-1", "-p", &size("2Gi")], "").await?;
    ns.until_complete(2, "2Gi").await?;
    let count = ns.writes_since(0).await?.count();
    ensure!(
        count.claims == ["data-web-1", "data-web-0"] && count.changes == 1,
        "{count:?}"
    );
    Ok(())
}

/// The smaller size is above the capacity of each PVC, and below the size that the first PVC asked for.
pub(super) async fn recover_smaller_target_lowers_growth_never_reached(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "recover", &at_most(2), &["--settings", &recover(env)?]).await?;
    ns.excepts(|but| but.recovers = true);
    let _served = Served::start(&ns, &json!({"shrink": "Recover"})).await?;
    too_much(&ns).await?;
    let pods = ns.pods().await?;
    let output = ns.target(&of(&ns, "2Gi")).await?;
    ensure!(output.stderr.contains("staged data 5Gi -> 2Gi"), "{output:?}");
    ns.until_complete(2, "2Gi").await?;
    ensure!(ns.pods().await? == pods, "Pods restarted");
    let count = ns.writes_since(0).await?.count();
    ensure!(
        count.claims == ["data-web-1", "data-web-1", "data-web-0"] && count.changes == 1,
        "{count:?}"
    );
    let asked = ns.sizes().await?;
    ensure!(asked == ["2Gi", "2Gi"], "{asked:?}");

    // A size that was reached is never lowered.
    let smaller = ns.target(&of(&ns, "1536Mi")).await?;
    let reached = "data-web-1, data-web-0: already has 2Gi, and a volume cannot shrink";
    ensure!(smaller.stderr.contains(reached), "{smaller:?}");
    let end = |rollout: &Value| rollout["status"]["conditions"][0]["reason"] == "Complete";
    ns.until_reported("the end", end).await?;
    let left = ns.sizes().await?;
    ensure!(left == asked, "{left:?}");
    Ok(())
}

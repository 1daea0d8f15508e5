//! The driver returns an error.

use anyhow::ensure;
use serde_json::{Value, json};

use crate::cluster::commands::run;
use crate::world::namespace::{TestNamespace, condition, label, text};
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

/// The driver cannot do 2Gi. What the message asks for is done, and the same is staged again when the driver can do it. Before
/// every PVC has it, nothing shows a complete rollout.
pub(super) async fn withdrawn_and_lowered_claim_grows_when_staged_again(env: &World) -> anyhow::Result<()> {
    let too_small = Driver {
        maximum_bytes: GIB + GIB / 2,
        ..Driver::default()
    };
    let ns = prepare(env, "stopped-staged-again", &too_small, &[]).await?;
    ns.target(&of(&ns, "2Gi")).await?;
    ns.until_reported("the driver's answer", is_infeasible).await?;
    let first = label(&ns.staged_change().await?);

    let name = &ns.namespace;
    let output = run(&ns, &["withdraw", "web"], "").await?;
    ensure!(output.success, "{output:?}");
    let withdrawn = |rollout: &Value| rollout["status"]["conditions"][0]["reason"] == "Withdrawn";
    ns.until_reported("the withdrawal", withdrawn).await?;
    let least = json!({"spec": {"resources": {"requests": {"storage": "1025Mi"}}}}).to_string();
    ns.done(&["patch", "pvc", "data-web-1", "-p", &least], "").await?;
    let grown = "--for=jsonpath={.status.capacity.storage}=1025Mi";
    ns.done(&["wait", "--timeout=120s", grown, "pvc/data-web-1"], "")
        .await?;

    env.barriers.hold_claim(name, "data-web-1");
    env.cluster.set_driver_of(name, &at_most(8))?;
    ns.target(&of(&ns, "2Gi")).await?;
    let second = label(&ns.staged_change().await?);
    ensure!(
        first != second && first.split_once('.').map(|parts| parts.0) == second.split_once('.').map(|parts| parts.0),
        "{first} and {second}"
    );
    env.barriers.until_held(name).await?;
    is_not_complete(&ns).await?;
    env.barriers.open(name);
    ns.until_complete(2, "2Gi").await?;
    let written = ns.writes_since(0).await?;
    let count = written.count();
    ensure!(
        count.claims == ["data-web-1", "data-web-1", "data-web-0"] && count.changes == 1,
        "{count:?}"
    );
    ensure!(ns.events().await?["ClaimRolloutComplete"] == 1, "it was complete twice");
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
    ns.done(&["wait", "--timeout=120s", grown, "pvc/data-web-1"], "")
        .await?;
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
    let asked = requests(&ns).await?;
    ensure!(asked == ["2Gi", "2Gi"], "{asked:?}");

    // A size that was reached is never lowered.
    let smaller = ns.target(&of(&ns, "1536Mi")).await?;
    let reached = "data-web-1, data-web-0: already has 2Gi, and a volume cannot shrink";
    ensure!(smaller.stderr.contains(reached), "{smaller:?}");
    let end = |rollout: &Value| rollout["status"]["conditions"][0]["reason"] == "Complete";
    ns.until_reported("the end", end).await?;
    let left = requests(&ns).await?;
    ensure!(left == asked, "{left:?}");
    Ok(())
}

/// A StatefulSet of three replicas whose controller takes growth back.
async fn three<'a>(env: &'a World, name: &str) -> anyhow::Result<TestNamespace<'a>> {
    let mut ns = env.namespace(name).await?;
    ns.make_class(&at_most(8), true).await?;
    ns.start_controller(env, &["--settings", &recover(env)?]).await?;
    ns.excepts(|but| but.recovers = true);
    ns.target(&of_three(&ns, "1Gi")).await?;
    ns.settled().await?;
    Ok(ns)
}

/// Of three PVCs the highest has reached the target when the driver starts to fail; the next has not, and the lowest
/// was not written.
async fn stop_in_the_middle<'a>(env: &World, ns: &'a TestNamespace<'a>) -> anyhow::Result<Served> {
    let name = &ns.namespace;
    let served = Served::start(ns, &json!({"shrink": "Recover"})).await?;
    env.barriers.hold_claim(name, "data-web-1");
    ns.target(&of_three(ns, "5Gi")).await?;
    env.barriers.until_held(name).await?;
    env.cluster.set_driver_of(name, &at_most(2))?;
    env.barriers.open(name);
    ns.until_reported("the driver's answer", is_infeasible).await?;
    Ok(served)
}

fn of_three(ns: &TestNamespace<'_>, size: &str) -> Web {
    Web::replicas(3).size(size).class(&ns.namespace)
}

async fn requests(ns: &TestNamespace<'_>) -> anyhow::Result<Vec<String>> {
    let claims = ns.claims().await?;
    let request = |claim: &Value| text(&claim["spec"]["resources"]["requests"]["storage"]);
    Ok(claims.iter().map(request).collect())
}

/// The API server accepts only sizes above the capacity.
pub(super) async fn recover_withdrawal_lowers_growth_not_reached(env: &World) -> anyhow::Result<()> {
    let ns = three(env, "stopped-taken-back").await?;
    let _served = stop_in_the_middle(env, &ns).await?;
    let pods = ns.pods().await?;
    let revision = text(&ns.staged_change().await?["revision"]);
    let withdraw = format!("claim-rollout.io/withdraw={revision}");
    let output = ns.done(&["annotate", "statefulset", "web", &withdraw], "").await?;
    let warning = "withdrew data 1Gi -> 5Gi; sizes that PVCs have not reached are taken back";
    ensure!(output.stderr.contains(warning), "{output:?}");
    let end = |rollout: &Value| rollout["status"]["conditions"][0]["reason"] == "NothingStaged";
    ns.until_reported("the end", end).await?;
    let annotations = ns.set().await?["metadata"]["annotations"].clone();
    for key in ["staged", "phase", "ready", "withdraw"] {
        let left = &annotations[format!("claim-rollout.io/{key}")];
        ensure!(*left == Value::Null, "{key}: {left}");
    }
    let requests = requests(&ns).await?;
    ensure!(requests == ["1Gi", "1025Mi", "5Gi"], "{requests:?}");
    ensure!(ns.pods().await? == pods, "Pods restarted");
    let count = ns.writes_since(0).await?.count();
    let claims = ["data-web-2", "data-web-1", "data-web-2", "data-web-1", "data-web-0"];
    ensure!(count.claims == claims && count.changes == 2, "{count:?}");
    Ok(())
}

/// The fourth recovery of OpenKruise's text: a smaller size for all, after some have reached the larger one.
pub(super) async fn recover_smaller_target_leaves_growth_reached(env: &World) -> anyhow::Result<()> {
    let ns = three(env, "stopped-smaller").await?;
    let _served = stop_in_the_middle(env, &ns).await?;
    let pods = ns.pods().await?;
    let output = ns.target(&of_three(&ns, "2Gi")).await?;
    for line in [
        "staged data 5Gi -> 2Gi",
        "data-web-2: already has 5Gi, and a volume cannot shrink",
    ] {
        ensure!(output.stderr.contains(line), "{output:?}");
    }
    let end = |rollout: &Value| rollout["status"]["conditions"][0]["reason"] == "Complete";
    ns.until_reported("the end", end).await?;
    let requests = requests(&ns).await?;
    ensure!(requests == ["2Gi", "2Gi", "5Gi"], "{requests:?}");
    ensure!(ns.pods().await? == pods, "Pods restarted");
    let count = ns.writes_since(0).await?.count();
    let claims = ["data-web-2", "data-web-1", "data-web-2", "data-web-1", "data-web-0"];
    ensure!(count.claims == claims && count.changes == 1, "{count:?}");
    Ok(())
}

/// The volume is in use: the resizer tries again when no Pod uses it.
pub(super) async fn driver_that_retries_stalls_nothing_and_is_quoted_once(env: &World) -> anyhow::Result<()> {
    let driver = Driver {
        expand_error: Some("FAILED_PRECONDITION"),
        ..Driver::default()
    };
    let ns = prepare(env, "in-use", &driver, &[]).await?;
    let begun = ns.mark().await?;
    ns.target(&of(&ns, "2Gi")).await?;
    let is_quoted = |rollout: &Value| {
        let first = &rollout["status"]["claims"][0];
        first["state"] == "Expanding" && text(&first["message"]).contains("FailedPrecondition")
    };
    ns.until_reported("the driver's answer", is_quoted).await?;
    let statuses = ns.writes_since(begun).await?.count().statuses;
    tokio::time::sleep(std::time::Duration::from_secs(8)).await;
    let count = ns.writes_since(begun).await?.count();
    let events = ns.events().await?;
    ensure!(count.statuses <= statuses + 1, "{statuses}, and then {count:?}");
    ensure!(!events.contains_key("ClaimExpansionFailed"), "{events:?}");
    ensure!(
        condition(&ns.rollout().await?, "Stalled") == "False",
        "it is tried again"
    );
    Ok(())
}

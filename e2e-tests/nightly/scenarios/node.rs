//! The last part of an expansion is done by the node: the file system.

use anyhow::ensure;
use serde_json::{Value, json};

use crate::cluster::scenarios::evicted::prepare;
use crate::world::namespace::{TestNamespace, condition, text};
use crate::world::web::Web;
use crate::world::{Driver, World};

/// True iff the first PVC that is not done waits for the node.
fn waits_for_node(claim: &str) -> impl Fn(&Value) -> bool {
    is(claim, "NodeExpanding", "FileSystemResizePending")
}

/// True iff the first PVC that is not done has this state and reason.
fn is(claim: &str, state: &str, reason: &str) -> impl Fn(&Value) -> bool {
    let expected = [claim, state, reason].map(|word| json!(word));
    move |rollout| {
        let first = &rollout["status"]["claims"][0];
        let found = ["name", "state", "reason"].map(|key| &first[key]);
        found == expected.each_ref()
    }
}

pub(super) async fn claim_with_pending_file_system_keeps_next_one_waiting(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "node").await?;
    let (begun, pods) = (ns.mark().await?, ns.pods().await?);
    ns.target(&Web::replicas(2).size("2Gi").class("node")).await?;
    for (claim, so_far) in [
        ("data-web-1", &["data-web-1"][..]),
        ("data-web-0", &["data-web-1", "data-web-0"][..]),
    ] {
        let rollout = ns.until_reported("the node's turn", waits_for_node(claim)).await?;
        let stalled = &rollout["status"]["conditions"][2];
        ensure!(stalled["status"] == "False", "it is progress: {rollout:#}");
        let count = ns.writes_since(begun).await?.count();
        ensure!(count.claims == so_far && count.changes == 0, "{count:?}");
        ns.node_grows(claim).await?;
    }
    ns.until_complete(2, "2Gi").await?;
    ensure!(ns.pods().await? == pods, "Pods restarted");
    let written = ns.writes_since(begun).await?;
    written.claims_follow_one_another(&["data-web-1", "data-web-0"])?;
    written.is_a_rollout(&["data-web-1", "data-web-0"], 0)
}

/// Some drivers finish only when the volume is mounted again, so waiting for that before the Pod is replaced would
/// never end.
pub(super) async fn pod_replaced_before_node_expansion_next_claim_waits(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "node-pods").await?;
    let begun = ns.mark().await?;
    let both = Web::replicas(2).size("2Gi").class("node-pods").image("2");
    ns.target(&both).await?;
    for (claim, ready) in [("data-web-1", 1), ("data-web-0", 2)] {
        ns.until_reported("the node's turn", waits_for_node(claim)).await?;
        ns.until_updated(ready).await?;
        let count = ns.writes_since(begun).await?.count();
        ensure!(count.claims.len() == ready && count.nudges <= ready, "{count:?}");
        ns.node_grows(claim).await?;
    }
    ns.until_complete(2, "2Gi").await?;
    ns.settled().await?;
    let written = ns.writes_since(begun).await?;
    let last = written.ready("data-web-1")?;
    ensure!(last < written.applied("data-web-0")?, "the next one did not wait");
    written.is_a_rollout(&["data-web-1", "data-web-0"], 2)
}

/// Waits until the first PVC that is not done has this state and message. The condition has the same message, unless it
/// names the Pod.
async fn quotes(ns: &TestNamespace<'_>, is_so: impl Fn(&Value) -> bool, words: &str) -> anyhow::Result<()> {
    let rollout = ns.until_reported(words, is_so).await?;
    let status = &rollout["status"];
    let (claim, ready) = (&status["claims"][0]["message"], &status["conditions"][0]["message"]);
    let (claim, ready) = (text(claim), text(ready));
    ensure!(
        claim.contains(words) && (ready.contains(words) || ready.contains("waiting for Pod")),
        "{status:#}"
    );
    Ok(())
}

/// Every kubelet reports a failure if the volume must be mounted again, and the resizer keeps a resolved error: neither
/// is the final error of the driver.
pub(super) async fn errors_of_retried_attempts_keep_no_pod_and_stall_nothing(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "node-errors").await?;
    let of_driver = |expand_error| Driver {
        node_expansion_required: true,
        expand_error,
        ..Driver::default()
    };
    let fails = of_driver(Some("INTERNAL"));
    let begun = ns.mark().await?;
    env.cluster.set_driver_of(&ns.namespace, &fails)?;
    let both = Web::replicas(2).size("2Gi").class("node-errors").image("2");
    ns.target(&both).await?;
    for (claim, replaced) in [("data-web-1", 1), ("data-web-0", 2)] {
        quotes(&ns, is(claim, "Expanding", "ControllerResizeError"), "code = Internal").await?;
        env.cluster.set_driver_of(&ns.namespace, &of_driver(None))?;
        let kept = is(claim, "NodeExpanding", "ControllerResizeError");
        quotes(&ns, kept, "code = Internal").await?;
        ns.node_fails(claim).await?;
        let failed = is(claim, "NodeExpanding", "NodeResizeError");
        quotes(&ns, failed, "code = FailedPrecondition").await?;
        ns.until_updated(replaced).await?;
        env.cluster.set_driver_of(&ns.namespace, &fails)?;
        ns.node_grows(claim).await?;
    }
    ns.until_complete(2, "2Gi").await?;
    let written = ns.writes_since(begun).await?;
    for entry in written.states("claimrollouts", "web").values() {
        let rollout = entry.response.value();
        ensure!(condition(&rollout, "Stalled") != "True", "{rollout:#}");
    }
    let events = ns.events().await?;
    ensure!(!events.contains_key("ClaimExpansionFailed"), "{events:?}");
    Ok(())
}

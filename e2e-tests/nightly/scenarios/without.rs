//! A rollout with an image while the controller or the policy is away: no Pod runs ahead without need, and none is lost.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::cluster::commands::run;
use crate::world::namespace::{TestNamespace, text};
use crate::world::served::Served;
use crate::world::web::Web;
use crate::world::{Output, World, until};

/// Longer than the first pauses of the StatefulSet controller.
const AWAY: Duration = Duration::from_secs(60);

/// The images of the Pods, sorted by name.
async fn images(ns: &TestNamespace<'_>) -> anyhow::Result<Vec<String>> {
    let pods = ns.list("pod").await?;
    let image = |pod: &Value| text(&pod["spec"]["containers"][0]["image"]);
    Ok(pods.iter().map(image).collect())
}

pub(super) async fn without_controller_no_pod_runs_ahead_or_is_lost(env: &World) -> anyhow::Result<()> {
    let mut ns = env.with_set("stopped-without-controller", 3).await?;
    env.barriers.hold_claim(&ns.namespace, "data-web-2");
    ns.target(&Web::replicas(3).size("2Gi").image("2")).await?;
    let held = env.barriers.until_held(&ns.namespace).await;
    held.with_context(|| ns.log())?;
    ns.controller = None;
    env.barriers.open_for_others(&ns.namespace);
    let why = ns.until_denied("web-2").await?;
    ensure!(why.contains("data-web-2 is not yet at revision"), "{why}");
    // A user drains the node of a Pod: the Pod is created again at once, with the new image.
    ns.delete_pods(&["web-0"]).await?;
    tokio::time::sleep(AWAY).await;
    ns.until_ready(3).await?;
    let ran = images(&ns).await?;
    ensure!(ran == ["example/main:2", "example/main:1", "example/main:1"], "{ran:?}");
    ns.start_controller(env, &[]).await?;
    ns.until_complete(3, "2Gi").await?;
    ns.until_updated(3).await?;
    let count = ns.writes_since(0).await?.count();
    ensure!(count.claims.len() == 3 && count.changes == 1, "{count:?}");
    Ok(())
}

pub(super) async fn without_policy_pods_go_on_and_claims_follow(env: &World) -> anyhow::Result<()> {
    let mut ns = env.with_set("stopped-without-policy", 3).await?;
    {
        let served = Served::start(&ns, &json!({})).await?;
        env.barriers.hold_claim(&ns.namespace, "data-web-2");
        ns.target(&Web::replicas(3).size("2Gi").image("2")).await?;
        let held = env.barriers.until_held(&ns.namespace).await;
        held.with_context(|| ns.log())?;
        ns.until_denied("web-2").await?;
        served.go().await?;
    }
    nothing_is_withdrawn(&ns).await?;
    trigger_retry(&ns).await?;
    ns.until_updated(3).await?;
    let ran = images(&ns).await?;
    ensure!(ran == ["example/main:2"; 3], "{ran:?}");
    env.barriers.open(&ns.namespace);
    // The guard is installed, so the controller trusts the staged change.
    ns.until_complete(3, "2Gi").await?;
    ns.controller = None;
    Ok(())
}

/// A withdrawal that reaches no policy is removed again, or a later edit would execute it.
async fn nothing_is_withdrawn(ns: &TestNamespace<'_>) -> anyhow::Result<()> {
    let revision = ns.staged_change().await?["revision"].clone();
    // The status of the StatefulSet is written meanwhile, again and again.
    let withdraw = async || run(ns, &["withdraw", "web"], "").await;
    let answered = |output: &Output| !output.stderr.contains("has been modified");
    let output = until("an answer", withdraw, answered).await?;
    let message = "error: nothing was withdrawn: the policy did not consume the annotation claim-rollout.io/withdraw";
    ensure!(
        output.code == Some(1) && output.stderr.starts_with(message),
        "{output:?}"
    );
    let annotations = &ns.set().await?["metadata"]["annotations"];
    ensure!(annotations.get("claim-rollout.io/withdraw").is_none(), "{annotations}");
    ensure!(ns.staged_change().await?["revision"] == revision, "it is staged still");
    Ok(())
}

/// Any event makes the StatefulSet controller try again. It may have done so by itself, and reached this Pod.
async fn trigger_retry(ns: &TestNamespace<'_>) -> anyhow::Result<()> {
    let output = ns
        .kubectl(&["annotate", "pod", "web-0", "example.com/note=hello"], "")
        .await?;
    ensure!(output.success || output.stderr.contains("NotFound"), "{output:?}");
    Ok(())
}

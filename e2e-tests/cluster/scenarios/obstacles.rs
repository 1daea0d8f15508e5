//! The API server returns an error: the rollout stops there, reports why, and goes on when the obstacle is removed.

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::world::manifests::claim;
use crate::world::namespace::{TestNamespace, are_as_written, condition, text};
use crate::world::web::Web;
use crate::world::{Driver, FIXED, World};

/// The message of `Stalled`, if the API server returned an error for a PVC.
fn failure(rollout: &Value) -> Option<String> {
    let stalled = &rollout["status"]["conditions"][2];
    (condition(rollout, "Stalled") == "True" && stalled["reason"] == "ClaimRefused").then(|| text(&stalled["message"]))
}

/// Waits until the API server returns an error for a PVC, which the controller reports once on the StatefulSet. Returns
/// the error.
async fn until_failed(ns: &TestNamespace<'_>) -> anyhow::Result<String> {
    let rollout = ns
        .until_reported("a failed write", |rollout| failure(rollout).is_some())
        .await?;
    ensure!(condition(&rollout, "Ready") == "False", "{rollout:#}");
    ensure!(condition(&rollout, "Reconciling") == "False", "{rollout:#}");
    ns.until_event("FailedToPatchPVC").await?;
    failure(&rollout).context("a failed write")
}

/// A failed write is retried with growing pauses, and reported once.
async fn reported_once(ns: &TestNamespace<'_>, reason: &str) -> anyhow::Result<()> {
    let events = ns.events().await?;
    ensure!(events.get(reason) == Some(&1), "{events:?}");
    Ok(())
}

fn quota(storage: &str) -> String {
    json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "storage"},
        "spec": {"hard": {"requests.storage": storage}},
    })
    .to_string()
}

pub(super) async fn quota_with_room_for_two_of_three_writes_none_until_raised(env: &World) -> anyhow::Result<()> {
    let ns = env.with_set("exceeds", 3).await?;
    ns.target(&quota("5Gi")).await?;
    ns.until_quota("used", "3Gi").await?;
    let (begun, pods, claims) = (ns.mark().await?, ns.pods().await?, ns.claims().await?);
    ns.apply(3, "2Gi").await?;
    let exceeds = |rollout: &Value| {
        let stalled = &rollout["status"]["conditions"][2];
        stalled["status"] == "True" && stalled["reason"] == "WouldExceedQuota"
    };
    let rollout = ns.until_reported("a quota that has no room", exceeds).await?;
    let why = text(&rollout["status"]["conditions"][2]["message"]);
    let words = "the 3 PVCs that would grow need 3Gi more, and ResourceQuota storage has 2Gi left of 5Gi: ";
    ensure!(why.starts_with(words), "{why}");
    ensure!(condition(&rollout, "Ready") == "False", "{rollout:#}");
    ns.until_event("ClaimRolloutStalled").await?;
    reported_once(&ns, "ClaimRolloutStalled").await?;
    let count = ns.writes_since(begun).await?.count();
    ensure!(count.claims.is_empty() && count.changes == 0, "{count:?}");
    ensure!(are_as_written(&ns.claims().await?, &claims), "a claim was written");

    ns.target(&quota("6Gi")).await?;
    ns.until_complete(3, "2Gi").await?;
    ensure!(ns.pods().await? == pods, "Pods restarted");
    let written = ns.writes_since(begun).await?;
    ensure!(written.refused().is_empty(), "{:?}", written.refused());
    written.is_a_rollout(&["data-web-2", "data-web-1", "data-web-0"], 0)
}

pub(super) async fn class_made_expandable_later_continues_the_rollout(env: &World) -> anyhow::Result<()> {
    let mut ns = env.namespace("class").await?;
    ns.make_class(&Driver::default(), false).await?;
    ns.start_controller(env, &[]).await?;
    let of = |size: &str| Web::replicas(2).size(size).class("class");
    ns.target(&of("1Gi")).await?;
    ns.settled().await?;
    let begun = ns.mark().await?;
    ns.target(&of("2Gi")).await?;
    let why = until_failed(&ns).await?;
    ensure!(
        why.starts_with("data-web-1: ") && why.contains("only dynamically provisioned pvc can be resized"),
        "{why}"
    );
    ns.make_class(&Driver::default(), true).await?;
    ns.until_complete(2, "2Gi").await?;
    reported_once(&ns, "FailedToPatchPVC").await?;
    let written = ns.writes_since(begun).await?;
    written.is_a_rollout(&["data-web-1", "data-web-0"], 0)
}

/// A StatefulSet of three whose second PVC existed before, of a class that cannot grow.
async fn with_a_fixed_claim<'a>(env: &'a World, namespace: &str, manifest: &Web) -> anyhow::Result<TestNamespace<'a>> {
    let mut ns = env.namespace(namespace).await?;
    ns.target(&claim("data-web-1", FIXED)).await?;
    ns.start_controller(env, &[]).await?;
    ns.target(manifest).await?;
    ns.settled().await?;
    Ok(ns)
}

pub(super) async fn parallel_pods_one_failed_claim_stops_no_other(env: &World) -> anyhow::Result<()> {
    let of = |size: &str| Web::replicas(3).size(size).parallel();
    let ns = with_a_fixed_claim(env, "parallel", &of("1Gi")).await?;
    let begun = ns.mark().await?;
    ns.target(&of("2Gi")).await?;
    let why = until_failed(&ns).await?;
    ensure!(why.starts_with("data-web-1: "), "{why}");
    let rollout = ns
        .until_reported("the others", |rollout| rollout["status"]["readyReplicas"] == 2)
        .await?;
    ensure!(failure(&rollout).is_some(), "{rollout:#}");
    let stuck = &rollout["status"]["claims"];
    ensure!(
        stuck[0]["name"] == "data-web-1" && stuck[0]["state"] == "Refused" && stuck[1].is_null(),
        "{rollout:#}"
    );
    reported_once(&ns, "FailedToPatchPVC").await?;
    let written = ns.writes_since(begun).await?;
    let count = written.count();
    ensure!(
        count.claims == ["data-web-2", "data-web-0"] && count.changes == 0,
        "{count:?}"
    );
    written.claims_follow_one_another(&["data-web-2", "data-web-0"])
}

//! A webhook changes the controller's writes to PVCs: as a webhook does that allows only its own labels, or an API
//! server without a feature.

use anyhow::ensure;
use jiff::Timestamp;
use serde_json::Value;

use crate::world::installation::USER;
use crate::world::meddler::Meddler;
use crate::world::namespace::{TestNamespace, condition, text};
use crate::world::web::Web;
use crate::world::{Entry, World, until};

const REVISION: &str = "claim-rollout.io/revision";

/// Makes the API server call a webhook for every update of a PVC of `web` in this namespace.
async fn meddle(ns: &TestNamespace<'_>, change: fn(&mut Value)) -> anyhow::Result<Meddler> {
    let updates = ("UPDATE", "", "persistentvolumeclaims");
    let webhook = Meddler::begin(ns, updates, "request.name.startsWith('data-web-')", change).await?;
    called(ns, true).await?;
    Ok(webhook)
}

/// Removes the webhook.
async fn leave_alone(ns: &TestNamespace<'_>, webhook: Meddler) -> anyhow::Result<()> {
    webhook.end(ns).await?;
    called(ns, false).await
}

/// Waits until the API server calls the webhook, or calls it no more: the webhook marks the PVCs that it sees.
async fn called(ns: &TestNamespace<'_>, called: bool) -> anyhow::Result<()> {
    // kubectl prints the label that it sent, not the stored one.
    let patch = r#"patch pvc data-web-0 -p {"metadata":{"labels":{"probe":"1"}}} --dry-run=server -o json"#;
    let probe = async || Ok(serde_json::from_str::<Value>(&ns.typed(patch).await?.stdout)?);
    let is_so = |claim: &Value| claim["metadata"]["labels"]["probe"].is_null() == called;
    until("the API server to notice", probe, is_so).await.map(drop)
}

/// The labels of a PVC, without the mark of [`called`].
fn labels(claim: &mut Value) -> Option<&mut serde_json::Map<String, Value>> {
    let labels = claim["metadata"]["labels"].as_object_mut()?;
    labels.remove("probe");
    Some(labels)
}

fn without_our_label(claim: &mut Value) {
    if let Some(labels) = labels(claim) {
        labels.remove(REVISION);
    }
}

/// When the controller wrote this PVC.
async fn written(ns: &TestNamespace<'_>, claim: &str) -> anyhow::Result<Vec<Timestamp>> {
    let writes = ns.writes_of(USER).await?;
    let of_claim = |entry: &&Entry| entry.name == claim && entry.resource == "persistentvolumeclaims";
    let times = writes.iter().filter(of_claim);
    Ok(times
        .map(|entry| entry.stage_timestamp.parse())
        .collect::<Result<_, _>>()?)
}

pub(super) async fn claim_with_removed_label_stalls_only_itself(env: &World) -> anyhow::Result<()> {
    let mut ns = env.with_set("label-away", 2).await?;
    ns.excepts(|but| but.changed = true);
    let other = |size: &str| Web::replicas(2).size(size).named("other");
    ns.target(&other("1Gi")).await?;
    ns.typed("rollout status statefulset/other --timeout=120s").await?;
    let webhook = meddle(&ns, without_our_label).await?;
    ns.apply(2, "2Gi").await?;
    let is_changed = |rollout: &Value| {
        let first = &rollout["status"]["claims"][0];
        first["state"] == "Refused" && first["reason"] == "ChangedByOthers" && condition(rollout, "Stalled") == "True"
    };
    let rollout = ns.until_reported("what came back", is_changed).await?;
    let stalled = &rollout["status"]["conditions"][2];
    let why = text(&stalled["message"]);
    let is_named = why.starts_with("data-web-1: ") && why.contains(&format!("label {REVISION} "));
    ensure!(is_named && why.ends_with("came back empty"), "{why}");
    ensure!(stalled["reason"] == "ClaimRefused", "{rollout:#}");

    // It is written again and again, whatever others do, with pauses that double: 1, 2, 4, 8 seconds, and some writes that
    // come before the end of a pause.
    ns.target(&other("2Gi")).await?;
    let ended = |rollout: &Value| condition(rollout, "Ready") == "True";
    ns.until("the other one to be complete", "claimrollout/other", ended)
        .await?;
    let read = async || written(&ns, "data-web-1").await;
    let times = until("the sixth write", read, |times| times.len() >= 6).await?;
    let since = times[5].duration_since(times[0]).as_secs();
    ensure!(since >= 7, "six writes in {since} s: {times:?}");
    let below = written(&ns, "data-web-0").await?;
    ensure!(below.is_empty(), "writes of the claim after it: {below:?}");

    leave_alone(&ns, webhook).await?;
    ns.start_controller(env, &[]).await?;
    ns.until_claims_complete(2, 4, "2Gi").await
}

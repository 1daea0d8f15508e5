//! A webhook changes the controller's writes to PVCs: as a webhook does that allows only its own labels, or an API
//! server without a feature.

use std::sync::Arc;
use std::time::Duration;

use anyhow::ensure;
use claim_rollout::webhook::{Engine, Evaluation, Identity, Limits, Running, serve};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::world::installation::USER;
use crate::world::namespace::{PATIENCE, TestNamespace, condition, text};
use crate::world::web::Web;
use crate::world::{Entry, World, base64, eventually};

/// The change of a PVC, given its previous state.
type Change = fn(&mut Value, &Value);

const REVISION: &str = "claim-rollout.io/revision";

struct Meddler(Change);

impl Engine for Meddler {
    fn evaluate<'a>(&'a self, request: &'a RawValue, _: Instant) -> Evaluation<'a> {
        Box::pin(async move {
            let mut request: Value = serde_json::from_str(request.get()).unwrap_or_default();
            let (mut object, before) = (request["object"].take(), request["oldObject"].take());
            (self.0)(&mut object, &before);
            Ok(json!({"accepted": true, "mutated_object": object})
                .to_string()
                .into_bytes())
        })
    }
}

/// Makes the API server call a webhook for every update of a PVC of `web` in this namespace.
async fn meddle(ns: &TestNamespace<'_>, change: Change) -> anyhow::Result<Running> {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
    let identity = Identity {
        certificates: made.cert.pem(),
        key: made.signing_key.serialize_pem(),
    };
    let engine: Arc<dyn Engine> = Arc::new(Meddler(change));
    let engines = [("meddler".to_owned(), engine)].into();
    let running = serve(([127, 0, 0, 1], 0).into(), &identity, engines, Limits::default())?;
    let url = format!("https://{}/validate/meddler", running.address());
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": ns.namespace},
        "webhooks": [{
            "name": format!("{}.scenarios.test", ns.namespace),
            "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": url, "caBundle": base64(&identity.certificates)},
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": ns.namespace}},
            "matchConditions": [{"name": "web", "expression": "request.name.startsWith('data-web-')"}],
            "rules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"],
                "resources": ["persistentvolumeclaims"],
            }],
        }],
    });
    ns.target(&configuration).await?;
    called(ns, true).await?;
    Ok(running)
}

/// Removes the webhook.
async fn leave_alone(ns: &TestNamespace<'_>, running: Running) -> anyhow::Result<()> {
    let webhook = ["delete", "mutatingwebhookconfiguration", &ns.namespace];
    ns.done(&webhook, "").await?;
    called(ns, false).await?;
    running.stop().await?;
    Ok(())
}

/// Waits until the API server calls the webhook, or calls it no more: the webhook marks the PVCs that it sees.
async fn called(ns: &TestNamespace<'_>, called: bool) -> anyhow::Result<()> {
    // kubectl prints the label that it sent, not the stored one.
    let probe = r#"{"metadata": {"labels": {"probe": "1"}}}"#;
    let probe = [
        "patch",
        "pvc",
        "data-web-0",
        "--patch",
        probe,
        "--dry-run=server",
        "-o",
        "json",
    ];
    let noticed = eventually("the API server to notice", PATIENCE, async || {
        let output = ns.done(&probe, "").await?;
        let claim: Value = serde_json::from_str(&output.stdout)?;
        Ok((claim["metadata"]["labels"]["probe"].is_null() == called).then_some(()))
    });
    noticed.await
}

/// The labels of a PVC, without the mark of [`called`].
fn labels(claim: &mut Value) -> Option<&mut serde_json::Map<String, Value>> {
    let labels = claim["metadata"]["labels"].as_object_mut()?;
    labels.remove("probe");
    Some(labels)
}

fn without_our_label(claim: &mut Value, _: &Value) {
    if let Some(labels) = labels(claim) {
        labels.remove(REVISION);
    }
}

/// The number of writes of the controller to this PVC.
async fn patches(ns: &TestNamespace<'_>, claim: &str) -> anyhow::Result<usize> {
    let writes = ns.writes_of(USER).await?;
    let of_claim = |entry: &&Entry| entry.name == claim && entry.resource == "persistentvolumeclaims";
    Ok(writes.iter().filter(of_claim).count())
}

/// Waits until the rollout stalls because of the changed PVC, and returns the message.
async fn until_changed(ns: &TestNamespace<'_>) -> anyhow::Result<String> {
    let is_changed = |rollout: &Value| {
        let first = &rollout["status"]["claims"][0];
        first["state"] == "Refused" && first["reason"] == "ChangedByOthers" && condition(rollout, "Stalled") == "True"
    };
    let rollout = ns.until_reported("what came back", is_changed).await?;
    let stalled = &rollout["status"]["conditions"][2];
    ensure!(stalled["reason"] == "ClaimRefused", "{rollout:#}");
    Ok(text(&stalled["message"]))
}

pub(super) async fn claim_with_removed_label_stalls_only_itself(env: &World) -> anyhow::Result<()> {
    let mut ns = env.with_set("label-away", 2).await?;
    ns.excepts(|but| but.changed = true);
    let other = |size: &str| Web::replicas(2).size(size).named("other");
    ns.target(&other("1Gi")).await?;
    ns.done(&["rollout", "status", "statefulset/other", "--timeout=120s"], "")
        .await?;
    let webhook = meddle(&ns, without_our_label).await?;
    let before = patches(&ns, "data-web-1").await?;
    ns.apply(2, "2Gi").await?;
    let why = until_changed(&ns).await?;
    let expected = format!("label {REVISION} ");
    ensure!(
        why.starts_with("data-web-1: ") && why.contains(&expected) && why.ends_with("came back empty"),
        "{why}"
    );
    tokio::time::sleep(Duration::from_secs(30)).await;
    ns.target(&other("2Gi")).await?;
    let ended = |rollout: &Value| condition(rollout, "Ready") == "True";
    ns.until("the other one to be complete", "claimrollout/other", ended)
        .await?;
    tokio::time::sleep(Duration::from_secs(30)).await;
    let written = patches(&ns, "data-web-1").await? - before;
    // In one minute, plus the time of the other PVC.
    ensure!((1..=12).contains(&written), "{written} writes of data-web-1");
    let below = patches(&ns, "data-web-0").await?;
    ensure!(below == 0, "{below} writes of the claim after it");

    leave_alone(&ns, webhook).await?;
    ns.start_controller(env, &[]).await?;
    ns.until_claims_complete(2, 4, "2Gi").await
}

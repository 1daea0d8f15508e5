//! Somebody who creates the StatefulSet just before the CREATE of the controller is stored: a webhook that is called for
//! that CREATE. No other time is worse, and here it does not depend on the speed of the machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::ensure;
use claim_rollout::webhook::{Engine, Evaluation, Identity, Limits, Running, serve};
use k8s_openapi::api::apps::v1::StatefulSet;
use kube::api::{Api, PostParams};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::denying::probe;
use crate::cluster::{base64, eventually};
use crate::installation::USER;
use crate::scenarios::namespace::{PATIENCE, TestNamespace};

#[derive(Clone)]
struct Intruder {
    sets: Api<StatefulSet>,
    set: Arc<StatefulSet>,
    calls: Arc<AtomicUsize>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    #[serde(default)]
    dry_run: bool,
}

impl Engine for Intruder {
    fn evaluate<'a>(&'a self, request: &'a RawValue, _: Instant) -> Evaluation<'a> {
        Box::pin(async move {
            self.calls.fetch_add(1, Ordering::Relaxed);
            let is_dry = serde_json::from_str(request.get()).map(|Request { dry_run }| dry_run);
            if !is_dry.unwrap_or(true) {
                // Only the first one succeeds.
                drop(self.sets.create(&PostParams::default(), &self.set).await);
            }
            Ok(br#"{"accepted":true}"#.to_vec())
        })
    }
}

/// Waits for the CREATE of the controller until it is dropped, and creates this StatefulSet first.
pub(super) async fn creates(ns: &TestNamespace<'_>, manifest: &str) -> anyhow::Result<Running> {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
    let identity = Identity {
        certificates: made.cert.pem(),
        key: made.signing_key.serialize_pem(),
    };
    let intruder = Intruder {
        sets: Api::namespaced(ns.client.clone(), &ns.namespace),
        set: Arc::new(serde_saphyr::from_str(manifest)?),
        calls: Arc::default(),
    };
    let engine: Arc<dyn Engine> = Arc::new(intruder.clone());
    let engines = [("intrude".to_owned(), engine)].into();
    let running = serve(([127, 0, 0, 1], 0).into(), &identity, engines, Limits::default())?;
    let url = format!("https://{}/validate/intrude", running.address());
    let registration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": format!("intrude-{}", ns.namespace)},
        "webhooks": [{
            "name": "intrude.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "NoneOnDryRun",
            "clientConfig": {"url": url, "caBundle": base64(&identity.certificates)}, "failurePolicy": "Fail",
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": ns.namespace}},
            "matchConditions": [{"name": "controller", "expression": format!("request.userInfo.username == '{USER}'")}],
            "rules": [{"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"],
                "resources": ["statefulsets"]}],
        }],
    });
    ns.target(&registration.to_string()).await?;
    let called = eventually("the API server to call the webhook", PATIENCE, async || {
        let arguments = ["create", "-f", "-", "--dry-run=server", "--as", USER];
        let output = ns.kubectl(&arguments, &probe()).await?;
        ensure!(output.success, "{output:?}");
        Ok((intruder.calls.load(Ordering::Relaxed) > 0).then_some(()))
    });
    called.await?;
    Ok(running)
}

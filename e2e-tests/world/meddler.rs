//! Webhooks of the tests themselves, in the place of somebody else's.

use std::sync::Arc;

use claim_rollout::webhook::{Engine, Evaluation, Limits, Running};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::base64;
use super::https::listen;
use super::namespace::TestNamespace;

/// Serves an engine on this machine until the handle is dropped, and returns the `clientConfig` that leads to it.
pub(crate) fn served(engine: Arc<dyn Engine>, limits: Limits) -> anyhow::Result<(Running, Value)> {
    let engines = [("webhook".to_owned(), engine)].into();
    let (running, certificate) = listen(engines, limits)?;
    let url = format!("https://{}/validate/webhook", running.address());
    let ca_bundle = base64(&certificate);
    Ok((running, json!({"url": url, "caBundle": ca_bundle})))
}

struct Change(fn(&mut Value));

impl Engine for Change {
    fn evaluate<'a>(&'a self, request: &'a RawValue, _: Instant) -> Evaluation<'a> {
        let mut request: Value = serde_json::from_str(request.get()).unwrap_or_default();
        (self.0)(&mut request["object"]);
        let answer = json!({"accepted": true, "mutated_object": request["object"]}).to_string();
        Box::pin(async move { Ok(answer.into_bytes()) })
    }
}

/// A mutating webhook that changes objects of one namespace.
pub(crate) struct Meddler {
    name: String,
    _running: Running,
}

impl Meddler {
    /// Registers it for an operation on a resource, where the CEL expression is true. The API server learns of it with a
    /// delay.
    pub(crate) async fn begin(
        ns: &TestNamespace<'_>,
        (operation, group, resource): (&str, &str, &str),
        condition: &str,
        change: fn(&mut Value),
    ) -> anyhow::Result<Self> {
        let (running, client) = served(Arc::new(Change(change)), Limits::default())?;
        let name = format!("meddler-{}", ns.namespace);
        let registration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": name},
            "webhooks": [{
                "name": "meddler.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "clientConfig": client, "failurePolicy": "Fail",
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": ns.namespace}},
                "matchConditions": [{"name": "condition", "expression": condition}],
                "rules": [{
                    "apiGroups": [group], "apiVersions": ["v1"], "operations": [operation], "resources": [resource],
                }],
            }],
        });
        ns.target(&registration).await?;
        let _running = running;
        Ok(Self { name, _running })
    }

    /// Unregisters it. The API server notices that a moment later, and is answered until then.
    pub(crate) async fn end(&self, ns: &TestNamespace<'_>) -> anyhow::Result<()> {
        ns.typed(&format!("delete mutatingwebhookconfiguration {}", self.name))
            .await
            .map(drop)
    }
}

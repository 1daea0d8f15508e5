//! A mutating webhook of somebody else that acts on CREATE only: it adds an annotation to the Pod template.

use std::sync::Arc;

use claim_rollout::webhook::{Engine, Evaluation, Identity, Limits, Running, serve};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::world::namespace::{PATIENCE, TestNamespace};
use crate::world::web::Web;
use crate::world::{base64, eventually};

/// The annotation that it adds.
pub(crate) const INJECTED: &str = "example.com/injected";

struct Injector;

#[derive(Deserialize)]
struct Request {
    object: Value,
}

impl Engine for Injector {
    fn evaluate<'a>(&'a self, request: &'a RawValue, _: Instant) -> Evaluation<'a> {
        let object = serde_json::from_str(request.get()).map(|Request { object }| object);
        let mut object = object.unwrap_or_default();
        object["spec"]["template"]["metadata"]["annotations"][INJECTED] = "true".into();
        let answer = json!({"accepted": true, "mutated_object": object}).to_string();
        Box::pin(async move { Ok(answer.into_bytes()) })
    }
}

/// The webhook of one namespace.
pub(crate) struct Webhook {
    name: String,
    _running: Running,
}

impl Webhook {
    /// Registers it for StatefulSets for which the CEL expression is true, and waits until the API server calls it.
    pub(crate) async fn on_create(ns: &TestNamespace<'_>, condition: &str) -> anyhow::Result<Self> {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
        let identity = Identity {
            certificates: made.cert.pem(),
            key: made.signing_key.serialize_pem(),
        };
        let engine: Arc<dyn Engine> = Arc::new(Injector);
        let engines = [("inject".to_owned(), engine)].into();
        let running = serve(([127, 0, 0, 1], 0).into(), &identity, engines, Limits::default())?;
        let url = format!("https://{}/validate/inject", running.address());
        let name = format!("inject-{}", ns.namespace);
        let registration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": name},
            "webhooks": [{
                "name": "inject.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "clientConfig": {"url": url, "caBundle": base64(&identity.certificates)}, "failurePolicy": "Fail",
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": ns.namespace}},
                "matchConditions": [{"name": "condition",
                    "expression": format!("object.metadata.?name.orValue('') == 'probe' || ({condition})")}],
                "rules": [{"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"],
                    "resources": ["statefulsets"]}],
            }],
        });
        ns.target(&registration).await?;
        let probe = Web::replicas(0).plain().named("probe");
        let called = eventually("the API server to call the webhook", PATIENCE, async || {
            let arguments = ["create", "-f", "-", "-o", "json", "--dry-run=server"];
            let created: Value = serde_json::from_str(&ns.done(&arguments, &probe).await?.stdout)?;
            let annotations = &created["spec"]["template"]["metadata"]["annotations"];
            Ok((annotations[INJECTED] == "true").then_some(()))
        });
        called.await?;
        Ok(Self {
            name,
            _running: running,
        })
    }

    /// Unregisters it. The API server notices that a moment later, and is answered until then.
    pub(crate) async fn end(&self, ns: &TestNamespace<'_>) -> anyhow::Result<()> {
        let arguments = ["delete", "mutatingwebhookconfiguration", &self.name];
        ns.done(&arguments, "").await.map(drop)
    }
}

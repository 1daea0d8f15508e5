//! A mutating webhook of somebody else that acts on CREATE only: it adds an annotation to the Pod template.

use serde_json::Value;

use crate::world::meddler::Meddler;
use crate::world::namespace::TestNamespace;
use crate::world::until;
use crate::world::web::Web;

/// The annotation that it adds.
pub(crate) const INJECTED: &str = "example.com/injected";

fn inject(object: &mut Value) {
    object["spec"]["template"]["metadata"]["annotations"][INJECTED] = "true".into();
}

/// The webhook.
pub(crate) struct Webhook;

impl Webhook {
    /// Registers it for StatefulSets for which the CEL expression is true, and waits until the API server calls it.
    pub(crate) async fn on_create(ns: &TestNamespace<'_>, condition: &str) -> anyhow::Result<Meddler> {
        let condition = format!("object.metadata.?name.orValue('') == 'probe' || ({condition})");
        let webhook = Meddler::begin(ns, ("CREATE", "apps", "statefulsets"), &condition, inject).await?;
        let probe = Web::replicas(0).plain().named("probe");
        let create = async || {
            let arguments = ["create", "-f", "-", "-o", "json", "--dry-run=server"];
            let created: Value = serde_json::from_str(&ns.done(&arguments, &probe).await?.stdout)?;
            Ok(created["spec"]["template"]["metadata"]["annotations"][INJECTED].clone())
        };
        until("the API server to call the webhook", create, |injected| {
            injected == "true"
        })
        .await?;
        Ok(webhook)
    }
}

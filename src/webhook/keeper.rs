//! Keeps the certificates fresh, and API servers trusting them. Several replicas share one Secret.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, ApiResource, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::certificates::{CannotMake, Certificates, Terms};
use super::server::Identity;

/// The annotation of the Secret that says for whom its certificates are and when they are renewed.
pub const TERMS: &str = "claim-rollout.io/certificate-terms";
/// The longest that one request may take.
const TIME: Duration = Duration::from_secs(10);
/// How often a write is tried that others come before.
const TRIES: usize = 5;

/// Where the certificates are kept, and who is to trust them.
#[derive(Clone, Debug)]
pub struct Keeping {
    /// The namespace of the Secret.
    pub namespace: String,
    /// The name of the Secret, and of the webhook configurations.
    pub name: String,
    /// The host names and addresses of the server.
    pub names: Vec<String>,
}

/// Why certificates could not be kept. The server goes on with those that it has.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// They cannot be made.
    #[error(transparent)]
    Make(#[from] CannotMake),
    /// The API server refused, or could not be reached.
    #[error("expected to {what}, but could not: {source}")]
    Call {
        /// What was asked for.
        what: &'static str,
        /// Its word.
        source: Box<kube::Error>,
    },
    /// The API server did not answer.
    #[error("expected to {0}, but there was no answer within {secs} s", secs = TIME.as_secs())]
    Late(&'static str),
    /// Others changed the object again and again.
    #[error("expected to change {0}, but others did so each time")]
    Crowded(String),
}

impl Keeping {
    /// The certificates that are in force: those of the Secret, or new ones that are in it when this returns. API servers
    /// trust them when this returns, as soon as they learn of it.
    ///
    /// # Errors
    /// [`KeepError`]; what was done so far stays, and the next call goes on from there.
    pub async fn keep(&self, client: &Client, now: Timestamp) -> Result<Certificates, KeepError> {
        let certificates = self.secret(client, now).await?;
        let bundle = json!(ByteString(certificates.authorities.clone().into_bytes()));
        for kind in ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"] {
            self.trust(client, kind, &bundle).await?;
        }
        Ok(certificates)
    }

    /// What is in the Secret, if it is good, or else new ones. Who loses a race takes what the winner has made.
    async fn secret(&self, client: &Client, now: Timestamp) -> Result<Certificates, KeepError> {
        let secrets: Api<Secret> = Api::namespaced(client.clone(), &self.namespace);
        for _ in 0..TRIES {
            let found = call("read the Secret", secrets.get_opt(&self.name)).await?;
            let known = found.as_ref().and_then(read);
            if let Some(known) = known.as_ref().filter(|known| !known.terms.are_over(&self.names, now)) {
                return Ok(known.clone());
            }
            let before = known.map(|known| known.authorities).unwrap_or_default();
            let made = Certificates::make(&self.names, now, &before)?;
            let parameters = PostParams::default();
            let written = match found {
                None => {
                    call(
                        "create the Secret",
                        secrets.create(&parameters, &self.written(&made, None)),
                    )
                    .await
                }
                Some(found) => {
                    let secret = self.written(&made, found.resource_version());
                    call("replace the Secret", secrets.replace(&self.name, &parameters, &secret)).await
                }
            };
            match written {
                Ok(_) => {
                    tracing::info!(renew_at = %made.terms.renew_at, "made a certificate");
                    return Ok(made);
                }
                Err(KeepError::Call { source, .. }) if is_conflict(&source) => {}
                Err(error) => return Err(error),
            }
        }
        Err(KeepError::Crowded(format!("the Secret {}", self.name)))
    }

    /// The Secret with these certificates, in place of that of this version.
    fn written(&self, certificates: &Certificates, resource_version: Option<String>) -> Secret {
        let bytes = |text: &str| ByteString(text.as_bytes().to_vec());
        let terms = serde_json::to_string(&certificates.terms).unwrap_or_default();
        let labels = BTreeMap::from([("app.kubernetes.io/name".to_owned(), "claim-rollout".to_owned())]);
        Secret {
            metadata: ObjectMeta {
                name: Some(self.name.clone()),
                annotations: Some(BTreeMap::from([(TERMS.to_owned(), terms)])),
                labels: Some(labels),
                resource_version,
                ..ObjectMeta::default()
            },
            type_: Some("kubernetes.io/tls".to_owned()),
            data: Some(BTreeMap::from([
                ("ca.crt".to_owned(), bytes(&certificates.authorities)),
                ("tls.crt".to_owned(), bytes(&certificates.identity.certificates)),
                ("tls.key".to_owned(), bytes(&certificates.identity.key)),
            ])),
            ..Secret::default()
        }
    }

    /// Makes every webhook of the configuration of our name trust this bundle; there need not be one. Nothing else in it
    /// changes, also where it has fields that are not known here.
    async fn trust(&self, client: &Client, kind: &str, bundle: &Value) -> Result<(), KeepError> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", kind));
        let configurations: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        let parameters = PostParams::default();
        for _ in 0..TRIES {
            let found = call("read the webhook configuration", configurations.get_opt(&self.name)).await?;
            let Some(mut found) = found else {
                return Ok(());
            };
            if !set_bundle(&mut found.data, bundle) {
                return Ok(());
            }
            // It has the version that was read.
            let replaced = configurations.replace(&self.name, &parameters, &found);
            match call("replace the webhook configuration", replaced).await {
                Ok(_) => {
                    tracing::info!(%kind, name = %self.name, "API servers are to trust the certificate");
                    return Ok(());
                }
                Err(KeepError::Call { source, .. }) if is_conflict(&source) => {}
                Err(error) => return Err(error),
            }
        }
        Err(KeepError::Crowded(format!("{kind} {}", self.name)))
    }
}

/// Makes every webhook of a configuration trust this bundle; true iff one did not.
fn set_bundle(configuration: &mut Value, bundle: &Value) -> bool {
    let webhooks = configuration["webhooks"].as_array_mut();
    let clients = webhooks
        .into_iter()
        .flatten()
        .map(|webhook| &mut webhook["clientConfig"]);
    let mut changed = false;
    for client in clients.filter(|client| client["caBundle"] != *bundle) {
        client["caBundle"] = bundle.clone();
        changed = true;
    }
    changed
}

/// What a Secret holds, if it holds all of it.
fn read(secret: &Secret) -> Option<Certificates> {
    let data = secret.data.as_ref()?;
    let text = |key: &str| String::from_utf8(data.get(key)?.0.clone()).ok();
    let terms: Terms = serde_json::from_str(secret.annotations().get(TERMS)?).ok()?;
    Some(Certificates {
        authorities: text("ca.crt")?,
        identity: Identity {
            certificates: text("tls.crt")?,
            key: text("tls.key")?,
        },
        terms,
    })
}

fn is_conflict(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 409)
}

async fn call<T>(what: &'static str, call: impl Future<Output = kube::Result<T>>) -> Result<T, KeepError> {
    let answer = timeout(TIME, call).await.map_err(|_| KeepError::Late(what))?;
    answer.map_err(|source| KeepError::Call {
        what,
        source: Box::new(source),
    })
}

#[cfg(test)]
#[path = "keeper_tests.rs"]
mod tests;

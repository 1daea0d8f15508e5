//! Renews the certificates, and writes them and the path to the webhook configurations. Several replicas share one
//! Secret.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, ApiResource, DynamicObject, PostParams};
use kube::core::GroupVersionKind;
use kube::{Client, ResourceExt};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::certificates::{CannotMake, Certificates, Terms};
use super::identity::Identity;
use super::path::{SecretPath, of_policy};

/// The annotation of the Secret with the names in the certificates and the time of renewal.
pub const TERMS: &str = "claim-rollout.io/certificate-terms";
/// The keys of the Secret; the first three as in cert-manager.
const AUTHORITIES: &str = "ca.crt";
const CERTIFICATES: &str = "tls.crt";
const KEY: &str = "tls.key";
const PATH: &str = "path";
/// The timeout of one request.
const TIME: Duration = Duration::from_secs(10);
/// The number of attempts for a write with conflicts.
const TRIES: usize = 5;

/// The Secret of the certificates, and their names.
#[derive(Clone, Debug)]
pub struct CertificateSecret {
    /// The namespace of the Secret.
    pub namespace: String,
    /// The name of the Secret, and of the webhook configurations.
    pub name: String,
    /// The host names and addresses of the server.
    pub names: Vec<String>,
}

/// An error in the renewal of certificates. The server continues with those that it has.
#[derive(Debug, thiserror::Error)]
pub enum KeepError {
    /// The certificates cannot be created.
    #[error(transparent)]
    Make(#[from] CannotMake),
    /// The Secret was not installed, or somebody has deleted it.
    #[error("Secret {0} not found: apply the manifests of the webhook again")]
    NoSecret(String),
    /// The API server returned an error, or could not be reached.
    #[error("failed to {what}: {source}")]
    Call {
        /// The request.
        what: &'static str,
        /// The cause.
        source: Box<kube::Error>,
    },
    /// The API server did not answer.
    #[error("failed to {0}: no answer within {secs} s", secs = TIME.as_secs())]
    Late(&'static str),
    /// Others changed the object again and again.
    #[error("failed to change {0}: conflicts with other writers at each attempt")]
    Crowded(String),
}

impl CertificateSecret {
    /// The current certificates: those in the Secret, or new ones, which this writes to the Secret and to the webhook
    /// configurations. API servers trust the certificates and use the path as soon as they learn of them.
    ///
    /// `shown` are the certificates that this server uses now. If the Secret was emptied, they are the previous ones of
    /// the new certificates, so that all replicas stay trusted.
    ///
    /// # Errors
    /// [`KeepError`]; completed writes stay, and the next call continues.
    pub async fn keep(
        &self,
        client: &Client,
        now: Timestamp,
        shown: Option<&Certificates>,
    ) -> Result<Certificates, KeepError> {
        let certificates = self.secret(client, now, shown).await?;
        for kind in ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"] {
            self.publish(client, kind, &certificates).await?;
        }
        Ok(certificates)
    }

    /// The certificates in the Secret, if they are valid, or else new ones. After a conflict, those of the other
    /// writer.
    async fn secret(
        &self,
        client: &Client,
        now: Timestamp,
        shown: Option<&Certificates>,
    ) -> Result<Certificates, KeepError> {
        let secrets: Api<Secret> = Api::namespaced(client.clone(), &self.namespace);
        let parameters = PostParams::default();
        for _ in 0..TRIES {
            let found = call("read the Secret", secrets.get_opt(&self.name)).await?;
            let found = found.ok_or_else(|| KeepError::NoSecret(self.name.clone()))?;
            let known = read(&found);
            if let Some(known) = known.as_ref().filter(|known| !known.terms.are_over(&self.names, now)) {
                return Ok(known.clone());
            }
            let made = Certificates::make(&self.names, now, known.as_ref().or(shown))?;
            let filled = filled(found, &made);
            let replaced = secrets.replace(&self.name, &parameters, &filled);
            match call("replace the Secret", replaced).await {
                Ok(_) => {
                    tracing::info!(renew_at = %made.terms.renew_at, "created a certificate");
                    return Ok(made);
                }
                Err(KeepError::Call { source, .. }) if is_conflict(&source) => {}
                Err(error) => return Err(error),
            }
        }
        Err(KeepError::Crowded(format!("the Secret {}", self.name)))
    }

    /// Writes the certificates and the path to every webhook of the configuration, if there is one. Nothing else in it
    /// changes, not even unknown fields.
    async fn publish(&self, client: &Client, kind: &str, certificates: &Certificates) -> Result<(), KeepError> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", kind));
        let configurations: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        let parameters = PostParams::default();
        for _ in 0..TRIES {
            let found = call("read the webhook configuration", configurations.get_opt(&self.name)).await?;
            let Some(mut found) = found else {
                return Ok(());
            };
            if !publish(&mut found.data, certificates) {
                return Ok(());
            }
            // The write has the resourceVersion of the read.
            let replaced = configurations.replace(&self.name, &parameters, &found);
            match call("replace the webhook configuration", replaced).await {
                Ok(_) => {
                    tracing::info!(%kind, name = %self.name, "wrote the certificate and the path to the webhook configuration");
                    return Ok(());
                }
                Err(KeepError::Call { source, .. }) if is_conflict(&source) => {}
                Err(error) => return Err(error),
            }
        }
        Err(KeepError::Crowded(format!("{kind} {}", self.name)))
    }
}

/// Writes these certificates to every webhook of a configuration; true iff that changes it.
fn publish(configuration: &mut Value, certificates: &Certificates) -> bool {
    let before = configuration["webhooks"].clone();
    let bundle = json!(ByteString(certificates.authorities.clone().into_bytes()));
    for webhook in configuration["webhooks"].as_array_mut().into_iter().flatten() {
        let path = of_policy(&policy(webhook), Some(&certificates.path));
        let client = &mut webhook["clientConfig"];
        client["caBundle"] = bundle.clone();
        if let Some((server, _)) = client["url"].as_str().and_then(split_url) {
            client["url"] = format!("{server}{path}").into();
        } else if client["service"].is_object() {
            client["service"]["path"] = path.into();
        }
    }
    configuration["webhooks"] != before
}

/// The policy that a webhook calls: the one in its path, or else the first part of its name.
fn policy(webhook: &Value) -> String {
    let client = &webhook["clientConfig"];
    let path = match client["url"].as_str().and_then(split_url) {
        Some((_, path)) => path,
        None => client["service"]["path"].as_str().unwrap_or_default(),
    };
    let asked = path.strip_prefix("/validate/");
    let first = asked
        .and_then(|rest| rest.split('/').next())
        .filter(|name| !name.is_empty());
    let name = || webhook["name"].as_str()?.split('.').next();
    first.or_else(name).unwrap_or_default().to_owned()
}

/// Splits a URL at the beginning of its path.
fn split_url(url: &str) -> Option<(&str, &str)> {
    let server = url.find("://")? + 3;
    let path = url[server..].find('/').map_or(url.len(), |slash| server + slash);
    Some(url.split_at(path))
}

/// A Secret with these certificates. All other fields stay as they were installed.
fn filled(mut secret: Secret, certificates: &Certificates) -> Secret {
    let terms = serde_json::to_string(&certificates.terms).unwrap_or_default();
    secret.annotations_mut().insert(TERMS.to_owned(), terms);
    let data = secret.data.get_or_insert_default();
    for (key, text) in [
        (AUTHORITIES, &certificates.authorities),
        (CERTIFICATES, &certificates.identity.certificates),
        (KEY, &certificates.identity.key),
        (PATH, &certificates.path.as_str().to_owned()),
    ] {
        data.insert(key.to_owned(), ByteString(text.as_bytes().to_vec()));
    }
    secret
}

/// The certificates in a Secret, if it is complete.
fn read(secret: &Secret) -> Option<Certificates> {
    let data = secret.data.as_ref()?;
    let text = |key: &str| String::from_utf8(data.get(key)?.0.clone()).ok();
    let terms: Terms = serde_json::from_str(secret.annotations().get(TERMS)?).ok()?;
    Some(Certificates {
        authorities: text(AUTHORITIES)?,
        identity: Identity {
            certificates: text(CERTIFICATES)?,
            key: text(KEY)?,
        },
        path: SecretPath::read(&text(PATH)?).ok()?,
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
#[path = "renewal_tests.rs"]
mod tests;

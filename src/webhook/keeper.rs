//! Keeps the certificates fresh, and sees to it that API servers trust them and know the path. Several replicas share
//! one Secret.

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

/// The annotation of the Secret that says for whom its certificates are and when they are renewed.
pub const TERMS: &str = "claim-rollout.io/certificate-terms";
/// The keys of the Secret; the first three are those of cert-manager.
const AUTHORITIES: &str = "ca.crt";
const CERTIFICATES: &str = "tls.crt";
const KEY: &str = "tls.key";
const PATH: &str = "path";
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
    /// Who has installed the webhook has not made it, or somebody has deleted it.
    #[error("expected the Secret {0}, which the manifests of the webhook bring, but found none: apply them again")]
    NoSecret(String),
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
    /// The certificates that are in force: those of the Secret, or new ones that are in it when this returns. API
    /// servers trust them when this returns, and ask under their path, as soon as they learn of it.
    ///
    /// `shown` are those that this server uses now. If the Secret was emptied, they are what is before the new ones, so
    /// that nobody is refused until all replicas have learned of it.
    ///
    /// # Errors
    /// [`KeepError`]; what was done so far stays, and the next call goes on from there.
    pub async fn keep(
        &self,
        client: &Client,
        now: Timestamp,
        shown: Option<&Certificates>,
    ) -> Result<Certificates, KeepError> {
        let certificates = self.secret(client, now, shown).await?;
        for kind in ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"] {
            self.lead(client, kind, &certificates).await?;
        }
        Ok(certificates)
    }

    /// What is in the Secret, if it is good, or else new ones. Who loses a race takes what the winner has made.
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
                    tracing::info!(renew_at = %made.terms.renew_at, "made a certificate");
                    return Ok(made);
                }
                Err(KeepError::Call { source, .. }) if is_conflict(&source) => {}
                Err(error) => return Err(error),
            }
        }
        Err(KeepError::Crowded(format!("the Secret {}", self.name)))
    }

    /// Leads every webhook of the configuration of our name to these certificates and their path; there need not be
    /// one. Nothing else in it changes, also where it has fields that are not known here.
    async fn lead(&self, client: &Client, kind: &str, certificates: &Certificates) -> Result<(), KeepError> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", kind));
        let configurations: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        let parameters = PostParams::default();
        for _ in 0..TRIES {
            let found = call("read the webhook configuration", configurations.get_opt(&self.name)).await?;
            let Some(mut found) = found else {
                return Ok(());
            };
            if !lead(&mut found.data, certificates) {
                return Ok(());
            }
            // It has the version that was read.
            let replaced = configurations.replace(&self.name, &parameters, &found);
            match call("replace the webhook configuration", replaced).await {
                Ok(_) => {
                    tracing::info!(%kind, name = %self.name, "API servers are to trust the certificate, and to ask under its path");
                    return Ok(());
                }
                Err(KeepError::Call { source, .. }) if is_conflict(&source) => {}
                Err(error) => return Err(error),
            }
        }
        Err(KeepError::Crowded(format!("{kind} {}", self.name)))
    }
}

/// Leads every webhook of a configuration to these certificates; true iff that changes it.
fn lead(configuration: &mut Value, certificates: &Certificates) -> bool {
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

/// The policy that a webhook asks: the one in its path, or else the first part of its name.
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

/// A URL before its path, and its path.
fn split_url(url: &str) -> Option<(&str, &str)> {
    let server = url.find("://")? + 3;
    let path = url[server..].find('/').map_or(url.len(), |slash| server + slash);
    Some(url.split_at(path))
}

/// A Secret with these certificates. What else it has stays: it is that of who installed the webhook.
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

/// What a Secret holds, if it holds all of it.
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
#[path = "keeper_tests.rs"]
mod tests;

//! Reads what is registered for admission, and says for which namespaces nothing is.
//!
//! Read only when a rollout is to go on, and then once for all of them: whoever takes the policy away is noticed within
//! [`FRESH`], and an idle controller asks nothing.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use kube::{Client, Resource};
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use super::error::ReconcileError;
use super::metrics::Metrics;
use super::registered::{Labels, Policy, Registered};
use crate::api::Settings;
use crate::rollout::Idle;
use crate::rollout::idle::POLICY_RECHECK;

/// For how long it is not read again.
const FRESH: Duration = Duration::from_secs(POLICY_RECHECK);

/// Whether StatefulSets are rolled out where nobody judges who stages a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WithoutPolicy {
    /// They wait, and say so.
    #[default]
    Stall,
    /// They are: for tests, and where something else does what the policy does.
    RollOut,
}

/// What is known of admission.
pub(super) struct Admission {
    client: Client,
    settings: Arc<Settings>,
    /// The only namespace of the controller.
    namespace: Option<String>,
    without: WithoutPolicy,
    metrics: Arc<Metrics>,
    known: tokio::sync::Mutex<Known>,
}

#[derive(Default)]
struct Known {
    read: Option<Instant>,
    registered: Registered,
    /// What may not be read, in the words of the API server.
    unread: Option<String>,
    /// Of each namespace that was asked about, or that they may not be read.
    labels: HashMap<String, Result<Labels, String>>,
    differing: Vec<String>,
}

/// What could be read, or that it may not be.
enum Read<T> {
    Done(T),
    Forbidden(String),
}

impl Admission {
    pub(super) fn new(
        client: Client,
        settings: Arc<Settings>,
        namespace: Option<String>,
        without: WithoutPolicy,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self {
            client,
            settings,
            namespace,
            without,
            metrics,
            known: tokio::sync::Mutex::default(),
        }
    }

    /// Compares the settings at the start, when nothing is rolled out yet.
    pub(super) async fn begin(&self) {
        if self.without == WithoutPolicy::RollOut {
            return;
        }
        if let Err(error) = self.read(&mut *self.known.lock().await).await {
            tracing::warn!(%error, "the settings of policy objects are not compared yet");
        }
    }

    /// Why nothing is rolled out in the namespace, if nobody judges who stages a change there. What may not be read does not
    /// count: the right to read it comes with the controller.
    ///
    /// # Errors
    /// If there is no answer, so that nothing is known.
    pub(super) async fn missing(&self, namespace: &str) -> Result<Option<Idle>, ReconcileError> {
        if self.without == WithoutPolicy::RollOut {
            return Ok(None);
        }
        let mut known = self.known.lock().await;
        if known.read.is_none_or(|read| read.elapsed() >= FRESH) {
            self.read(&mut known).await?;
        }
        if !known.labels.contains_key(namespace) {
            // Others, of other namespaces, need not wait for it.
            drop(known);
            let labels = self.labels(namespace).await?;
            known = self.known.lock().await;
            known.labels.insert(namespace.to_owned(), labels);
        }
        Ok(known.missing(namespace))
    }

    /// Reads everything anew. What was known stays if there is no answer.
    async fn read(&self, known: &mut Known) -> Result<(), ReconcileError> {
        let mut next = Known::default();
        let client = || self.client.clone();
        let registered = Registered {
            configurations: next.keep(list(Api::all(client())).await?),
            guards: next.keep(list(Api::all(client())).await?),
            bindings: next.keep(list(Api::all(client())).await?),
            policies: self.policies().await?,
        };
        next.registered = registered;
        let home = match &self.namespace {
            Some(namespace) => self.labels(namespace).await?.ok(),
            None => None,
        };
        next.differing = self.compare(&next.registered, home.as_ref(), &known.differing);
        next.read = Some(Instant::now());
        *known = next;
        Ok(())
    }

    /// In what the settings of policy objects differ from ours; it is said once for each time that it changes.
    fn compare(&self, registered: &Registered, home: Option<&Labels>, before: &[String]) -> Vec<String> {
        let differing = registered.differing(&self.settings, home);
        self.metrics.settings_differ(differing.len());
        if differing != before {
            for difference in &differing {
                tracing::warn!(difference, "a policy object has other settings than this controller");
            }
            if differing.is_empty() {
                tracing::info!("the policy objects have the settings of this controller");
            }
        }
        differing
    }

    /// The policy objects of Kubewarden. Where it is not installed, or they may not be read, there are none: webhooks are
    /// known by their names then.
    async fn policies(&self) -> Result<Vec<Policy>, ReconcileError> {
        let mut policies = Vec::new();
        for kind in ["ClusterAdmissionPolicy", "AdmissionPolicy"] {
            let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("policies.kubewarden.io", "v1", kind));
            let api: Api<DynamicObject> = match (kind, &self.namespace) {
                ("AdmissionPolicy", Some(namespace)) => Api::namespaced_with(self.client.clone(), namespace, &resource),
                _ => Api::all_with(self.client.clone(), &resource),
            };
            match list(api).await? {
                Read::Done(objects) => policies.extend(objects.iter().filter_map(policy)),
                Read::Forbidden(why) => tracing::debug!(kind, why, "the settings of policy objects are not compared"),
            }
        }
        Ok(policies)
    }

    /// The labels of a namespace, or that they may not be read.
    async fn labels(&self, namespace: &str) -> Result<Result<Labels, String>, ReconcileError> {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        Ok(match read(namespaces.get_metadata_opt(namespace).await)? {
            Read::Done(found) => Ok(found.and_then(|found| found.metadata.labels).unwrap_or_default()),
            Read::Forbidden(why) => Err(why),
        })
    }
}

impl Known {
    /// Why nothing is rolled out in a namespace whose labels are known.
    fn missing(&self, namespace: &str) -> Option<Idle> {
        let unread = match self.labels.get(namespace) {
            Some(Ok(labels)) if self.registered.judges(labels) => return None,
            Some(Err(why)) => Some(why.clone()),
            _ => self.unread.clone(),
        };
        Some(Idle::PolicyMissing { unread })
    }

    /// What could be read; that something may not be is kept.
    fn keep<T>(&mut self, read: Read<Vec<T>>) -> Vec<T> {
        match read {
            Read::Done(objects) => objects,
            Read::Forbidden(why) => {
                self.unread = Some(why);
                Vec::new()
            }
        }
    }
}

/// One that cannot be read is none of ours.
fn policy(object: &DynamicObject) -> Option<Policy> {
    let text = serde_json::to_string(object).ok()?;
    serde_json::from_str(&text).ok()
}

async fn list<K>(api: Api<K>) -> Result<Read<Vec<K>>, ReconcileError>
where
    K: Resource + Clone + DeserializeOwned + Debug,
{
    let listed = api.list(&ListParams::default()).await.map(|list| list.items);
    match listed {
        // The kind is not served.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Read::Done(Vec::new())),
        listed => read(listed),
    }
}

fn read<T>(answer: kube::Result<T>) -> Result<Read<T>, ReconcileError> {
    match answer {
        Ok(found) => Ok(Read::Done(found)),
        Err(kube::Error::Api(status)) if status.code == 403 => Ok(Read::Forbidden(status.message.clone())),
        Err(error) => Err(ReconcileError::Admission(error.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::{Idle, Known, Labels};

    #[test]
    fn what_may_not_be_read_is_the_reason_that_is_told() {
        let forbidden = |what: &str| format!("{what} is forbidden");
        for (labels, unread, expected) in [
            (Ok(Labels::new()), None, None),
            (Ok(Labels::new()), Some(forbidden("list")), Some(forbidden("list"))),
            (Err(forbidden("get")), None, Some(forbidden("get"))),
            (Err(forbidden("get")), Some(forbidden("list")), Some(forbidden("get"))),
        ] {
            let known = Known {
                labels: [("a".to_owned(), labels)].into(),
                unread,
                ..Known::default()
            };
            let expected = Idle::PolicyMissing { unread: expected };
            assert_eq!(known.missing("a"), Some(expected));
        }
    }
}

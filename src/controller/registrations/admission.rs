//! Reads the registered webhooks and policies, and finds namespaces without the policy or the guard.
//!
//! They are read only for a rollout in progress, and once for all rollouts: a removed policy is noticed within
//! [`FRESH`], and an idle controller sends no request.

use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, ListParams};
use kube::{Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::sync::MutexGuard;
use tokio::time::Instant;

use super::registered::{KubewardenPolicy, Labels, Registered};
use crate::api::Settings;
use crate::controller::calls::api_calls;
use crate::controller::calls::error::ReconcileError;
use crate::controller::locking::lock;
use crate::controller::metrics::controller::ControllerMetrics;
use crate::controller::objects::set::SlimSet;
use crate::controller::objects::set_kind::SetKind;
use crate::controller::read::lists;
use crate::controller::watch::failing::Failing;
use crate::gate::Idle;
use crate::gate::idle::POLICY_RECHECK;

/// How long the result of a read is used.
const FRESH: Duration = Duration::from_secs(POLICY_RECHECK);

/// The path of Kubewarden's policies for the whole cluster.
const POLICIES: &str = "/apis/policies.kubewarden.io/v1/clusteradmissionpolicies";

/// Whether to roll out in namespaces for which neither the policy nor the guard is registered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WithoutPolicy {
    /// Rollouts wait, and report it.
    #[default]
    Stall,
    /// Rollouts go on: for tests, and for clusters where something else replaces the policy.
    RollOut,
}

/// Reads and caches what is registered for admission.
pub(crate) struct Admission {
    client: Client,
    settings: Arc<Settings>,
    /// The only namespace of the controller, if it has one.
    namespace: Option<String>,
    without: WithoutPolicy,
    metrics: Arc<ControllerMetrics>,
    known: tokio::sync::Mutex<KnownAdmission>,
    /// The namespaces for which this cannot be read.
    failing: std::sync::Mutex<HashMap<String, Failing>>,
}

#[derive(Default)]
struct KnownAdmission {
    read: Option<Instant>,
    registered: Registered,
    /// The message of the API server about an object that the controller may not read.
    unread: Option<String>,
    /// Why the policy objects of Kubewarden could not be listed. Those that were known before count.
    unlisted: Option<String>,
    /// The labels of namespaces, or why they cannot be read.
    labels: HashMap<String, Readable<Labels>>,
    differing: Vec<String>,
}

/// The result of a read: the objects, or the message of the API server about the missing right.
type Readable<T> = Result<T, String>;

impl Admission {
    pub(crate) fn new(
        client: Client,
        settings: Arc<Settings>,
        namespace: Option<String>,
        without: WithoutPolicy,
        metrics: Arc<ControllerMetrics>,
    ) -> Self {
        Self {
            client,
            settings,
            namespace,
            without,
            metrics,
            known: tokio::sync::Mutex::default(),
            failing: std::sync::Mutex::default(),
        }
    }

    /// Compares the settings at the start, before the first rollout.
    pub(crate) async fn begin(&self) {
        if self.without == WithoutPolicy::RollOut {
            return;
        }
        if let Err(error) = self.read(&mut *self.known.lock().await).await {
            tracing::warn!(%error, "failed to compare the settings of policy objects; the next rollout compares them");
        }
    }

    /// Returns the reason to wait if neither the policy nor the guard is registered for this kind in the namespace, or
    /// if the change was staged before. Objects that the controller may not read do not count: its roles contain the
    /// right to read them.
    ///
    /// # Errors
    /// If the API server does not respond. After a minute, that is the reason to wait.
    pub(crate) async fn distrusts(&self, set: &SlimSet) -> Result<Option<Idle>, ReconcileError> {
        if self.without == WithoutPolicy::RollOut {
            return Ok(None);
        }
        let namespace = set.namespace().unwrap_or_default();
        let known = self.known(&namespace).await;
        let known = known.and_then(|known| known.distrusts(set, &namespace));
        let why = known.as_ref().err().map(ReconcileError::why);
        match (known, self.fails(&namespace, why, Instant::now())) {
            (Ok(distrusted), _) => Ok(distrusted),
            (Err(_), Some(unlisted)) => Ok(Some(unlisted)),
            (Err(error), None) => Err(error),
        }
    }

    /// Notes whether it can be read what is registered for this namespace. Returns the reason to wait if it could not for
    /// a minute.
    fn fails(&self, namespace: &str, why: Option<String>, now: Instant) -> Option<Idle> {
        let mut failing = lock(&self.failing);
        match why {
            Some(why) => failing.entry(namespace.to_owned()).or_default().failed(why, now),
            None => drop(failing.remove(namespace)),
        }
        let reported = failing.values().filter(|failing| failing.reported(now).is_some());
        self.metrics.admission_fails(reported.count());
        let why = failing.get(namespace)?.reported(now)?.to_owned();
        let what = "the registered webhooks and policies";
        Some(Idle::Unlisted { what, why })
    }

    /// True iff the guard denies that others delete a StatefulSet of the namespace while it is being replaced.
    ///
    /// # Errors
    /// If the API server does not respond.
    pub(crate) async fn guards_replacing(&self, namespace: &str) -> Result<bool, ReconcileError> {
        if self.without == WithoutPolicy::RollOut {
            return Ok(true);
        }
        Ok(self.known(namespace).await?.guards_replacing(namespace))
    }

    /// What is registered, and the labels of the namespace.
    async fn known(&self, namespace: &str) -> Result<MutexGuard<'_, KnownAdmission>, ReconcileError> {
        let mut known = self.known.lock().await;
        if known.read.is_none_or(|read| read.elapsed() >= FRESH) {
            self.read(&mut known).await?;
        }
        if !known.labels.contains_key(namespace) {
            // Rollouts of other namespaces do not wait for this request.
            drop(known);
            let labels = self.labels(namespace).await?;
            known = self.known.lock().await;
            known.labels.insert(namespace.to_owned(), labels);
        }
        Ok(known)
    }

    /// Reads everything again. On an error the known state stays.
    async fn read(&self, known: &mut KnownAdmission) -> Result<(), ReconcileError> {
        let mut next = KnownAdmission::default();
        let client = &self.client;
        let registered = Registered {
            configurations: next.keep(list::<MutatingWebhookConfiguration, _>(client).await?),
            guards: next.keep(list::<ValidatingAdmissionPolicy, _>(client).await?),
            bindings: next.keep(list::<ValidatingAdmissionPolicyBinding, _>(client).await?),
            policies: self.policies(&mut next.unlisted, known).await,
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

    /// The differences between the settings of policy objects and ours. Logs them when they change.
    fn compare(&self, registered: &Registered, home: Option<&Labels>, before: &[String]) -> Vec<String> {
        let differing = registered.differing(&self.settings, home);
        self.metrics.settings_differ(differing.len());
        if differing != before {
            for difference in &differing {
                tracing::warn!(
                    difference,
                    "a policy object and this controller have different settings"
                );
            }
            if differing.is_empty() {
                tracing::info!("the policy objects and this controller have the same settings");
            }
        }
        differing
    }

    /// The policy objects of Kubewarden; none if it is not installed or they may not be read. Webhooks are then recognized
    /// by their names. If their list fails, as with a broken conversion, those that were known stay.
    async fn policies(&self, unlisted: &mut Option<String>, known: &KnownAdmission) -> Vec<KubewardenPolicy> {
        match listed(&self.client, POLICIES).await {
            Ok(Ok(policies)) => policies,
            Ok(Err(why)) => {
                tracing::debug!(why, "the settings of policy objects are not compared");
                Vec::new()
            }
            Err(error) => {
                let why = error.why();
                if known.unlisted.as_ref() != Some(&why) {
                    tracing::warn!(why, "failed to list the policy objects of Kubewarden");
                }
                *unlisted = Some(why);
                known.registered.policies.clone()
            }
        }
    }

    /// The labels of a namespace, or why they cannot be read.
    async fn labels(&self, namespace: &str) -> Result<Readable<Labels>, ReconcileError> {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let found = read(namespaces.get_metadata_opt(namespace).await)?;
        Ok(found.map(|found| found.and_then(|found| found.metadata.labels).unwrap_or_default()))
    }
}

impl KnownAdmission {
    /// Returns the reason to wait for a set of a namespace whose labels are known.
    ///
    /// # Errors
    /// If nothing is known to be registered, and not everything could be listed.
    fn distrusts(&self, set: &SlimSet, namespace: &str) -> Result<Option<Idle>, ReconcileError> {
        let unread = match self.labels.get(namespace) {
            Some(Ok(labels)) => match self.registered.judges_since(set.kind, labels) {
                // Nothing is staged on a set of OpenKruise.
                Some(since) => {
                    let is_before = set.kind == SetKind::Apps && set.touched_at.is_none_or(|touched| touched < since);
                    return Ok(is_before.then_some(Idle::StagedBeforePolicy));
                }
                None => match (&self.unread, &self.unlisted) {
                    (None, Some(why)) => return Err(ReconcileError::Admission(why.clone())),
                    (unread, _) => unread.clone(),
                },
            },
            Some(Err(why)) => Some(why.clone()),
            None => self.unread.clone(),
        };
        Ok(Some(Idle::PolicyMissing { unread }))
    }

    /// True iff the guard is bound for a namespace whose labels are known.
    fn guards_replacing(&self, namespace: &str) -> bool {
        let labels = self.labels.get(namespace).and_then(|labels| labels.as_ref().ok());
        labels.is_some_and(|labels| self.registered.keeps_replaced(labels))
    }

    /// Returns the objects. If they cannot be read, keeps the reason.
    fn keep<T>(&mut self, read: Readable<Vec<T>>) -> Vec<T> {
        read.unwrap_or_else(|why| {
            self.unread = Some(why);
            Vec::new()
        })
    }
}

/// The objects of a kind without namespaces, as far as they are read. One that cannot be read is not ours.
async fn list<K, T>(client: &Client) -> Result<Readable<Vec<T>>, ReconcileError>
where
    K: Resource<DynamicType = ()>,
    T: Clone + DeserializeOwned + Debug,
{
    listed(client, &K::url_path(&(), None)).await
}

async fn listed<T>(client: &Client, url: &str) -> Result<Readable<Vec<T>>, ReconcileError>
where
    T: Clone + DeserializeOwned + Debug,
{
    let listed = lists::objects(client, url, ListParams::default()).fold(Some).await;
    match listed.map(|listed| listed.kept) {
        // The API server does not serve the kind.
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Ok(Vec::new())),
        listed => read(listed),
    }
}

fn read<T>(answer: kube::Result<T>) -> Result<Readable<T>, ReconcileError> {
    match answer {
        Ok(found) => Ok(Ok(found)),
        Err(kube::Error::Api(status)) if status.code == 403 => Ok(Err(status.message.clone())),
        Err(error) => Err(ReconcileError::Admission(api_calls::text(&error))),
    }
}

#[cfg(test)]
#[path = "admission_tests.rs"]
mod tests;

//! A webhook between the controllers and the storage of the API server: a test can stop a controller at exactly one
//! write, however slow the machine is. The API server calls it for every write of a controller in namespaces
//! `stopped-…`, and for every write of a journal about such a namespace.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use claim_rollout::webhook::{Engine, Evaluation, Limits, Running};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::meddler::served;
use super::waiting::PATIENCE;
use crate::world::installation::USER;
use crate::world::{Cluster, eventually};

/// Less than a controller waits for an answer.
const HOLD: Duration = Duration::from_secs(12);
/// The namespace that tests whether the webhook is called.
const PROBE: &str = "stopped-probe";
/// The beginning of the names of namespaces with a barrier.
const STOPPED: &str = "stopped-";

/// The barriers of all namespaces.
#[derive(Clone, Default)]
pub(crate) struct Barriers(Arc<Mutex<BTreeMap<String, Barrier>>>);

/// The barrier of one namespace; open at first.
#[derive(Clone, Default)]
struct Barrier {
    /// Holds a write after this many have passed …
    limit: Option<usize>,
    /// … or the write of this PVC.
    claim: Option<String>,
    /// The number of writes that have passed.
    passed: usize,
    /// Whether a write is being held.
    holding: bool,
    /// The held write does not pass any more.
    dead: bool,
}

/// The fields of an AdmissionRequest that are needed here.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    namespace: String,
    #[serde(default)]
    name: String,
    resource: Resource,
    #[serde(default)]
    dry_run: bool,
    #[serde(default)]
    object: Value,
    #[serde(default)]
    old_object: Value,
}

#[derive(Deserialize)]
struct Resource {
    resource: String,
}

impl Request {
    /// The namespace that the write is about. Journals are kept in another one.
    fn subject(&self) -> String {
        let journal = |secret: &Value| {
            let data = secret["data"]["journal"].as_str()?;
            let bytes = base64::engine::general_purpose::STANDARD.decode(data).ok()?;
            let journal: Value = serde_json::from_slice(&bytes).ok()?;
            journal["namespace"].as_str().map(str::to_owned)
        };
        let of_journal = journal(&self.object).or_else(|| journal(&self.old_object));
        of_journal.unwrap_or_else(|| self.namespace.clone())
    }

    /// A dry run changes nothing. Only the probe is one on purpose.
    fn counts(&self) -> bool {
        !self.dry_run || self.namespace == PROBE
    }
}

impl Barriers {
    fn with<T>(&self, namespace: &str, then: impl FnOnce(&mut Barrier) -> T) -> T {
        let mut barriers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        then(barriers.entry(namespace.to_owned()).or_default())
    }

    /// The number of writes that have passed.
    pub(crate) fn passed(&self, namespace: &str) -> usize {
        self.with(namespace, |barrier| barrier.passed)
    }

    /// Holds the write after this many.
    pub(crate) fn hold_after(&self, namespace: &str, limit: usize) {
        self.with(namespace, |barrier| barrier.limit = Some(limit));
    }

    /// Holds a write of this PVC.
    pub(crate) fn hold_claim(&self, namespace: &str, claim: &str) {
        self.with(namespace, |barrier| barrier.claim = Some(claim.to_owned()));
    }

    /// Whether a write is being held.
    pub(crate) fn is_holding(&self, namespace: &str) -> bool {
        self.with(namespace, |barrier| barrier.holding)
    }

    /// Waits until a write is held.
    pub(crate) async fn until_held(&self, namespace: &str) -> anyhow::Result<()> {
        let held = eventually("a write to be held", PATIENCE, async || {
            Ok(self.is_holding(namespace).then_some(()))
        });
        held.await
    }

    /// Opens the barrier, and lets the held write pass.
    pub(crate) fn open(&self, namespace: &str) {
        self.with(namespace, |barrier| {
            *barrier = Barrier {
                passed: barrier.passed,
                ..Barrier::default()
            }
        });
    }

    /// Opens the barrier for later writes. The held write is denied, because its controller has been killed.
    pub(crate) fn open_for_others(&self, namespace: &str) {
        self.with(namespace, |barrier| {
            *barrier = Barrier {
                passed: barrier.passed,
                dead: true,
                ..Barrier::default()
            }
        });
    }

    /// Serves the barriers, and makes the API server call them.
    pub(crate) async fn install(&self, cluster: &Cluster) -> anyhow::Result<Running> {
        let limits = Limits {
            time: HOLD * 2,
            ..Limits::default()
        };
        let (running, client) = served(Arc::new(self.clone()), limits)?;
        let configuration = configuration(&client);
        cluster.done(&["apply", "-f", "-"], &configuration.to_string()).await?;
        cluster.typed(&format!("create namespace {PROBE}")).await?;
        let probe = json!({
            "apiVersion": "claim-rollout.io/v1alpha1", "kind": "ClaimRollout", "metadata": {"name": "probe", "namespace": PROBE},
            "spec": {
                "setRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "probe", "uid": "0"},
                "revision": "0", "templates": [], "updatePolicy": "InPlace", "sync": "Async", "replaceSet": "Never",
            },
        })
        .to_string();
        let arguments = ["apply", "--server-side", "--dry-run=server", "--as", USER, "-f", "-"];
        let asked = eventually("the barrier to be asked", PATIENCE, async || {
            cluster.done(&arguments, &probe).await?;
            Ok((self.passed(PROBE) > 0).then_some(()))
        });
        asked.await?;
        Ok(running)
    }
}

impl Engine for Barriers {
    fn evaluate<'a>(&'a self, request: &'a RawValue, _: Instant) -> Evaluation<'a> {
        Box::pin(async move {
            const YES: &[u8] = br#"{"accepted":true}"#;
            const NO: &[u8] = br#"{"accepted":false,"message":"nobody waits for this any more","code":503}"#;
            let Ok(request) = serde_json::from_str::<Request>(request.get()) else {
                return Ok(NO.to_vec());
            };
            let subject = request.subject();
            if !request.counts() || !subject.starts_with(STOPPED) {
                return Ok(YES.to_vec());
            }
            let begun = Instant::now();
            let held = self.with(&subject, |barrier| {
                let named = request.resource.resource == "persistentvolumeclaims"
                    && barrier.claim.as_ref() == Some(&request.name);
                barrier.holding |= named || barrier.limit.is_some_and(|limit| barrier.passed >= limit);
                barrier.holding
            });
            while held && self.with(&subject, |barrier| barrier.holding) && begun.elapsed() < HOLD {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            let passes = self.with(&subject, |barrier| {
                let passes = !(held && (barrier.dead || barrier.holding));
                barrier.passed += usize::from(passes);
                passes
            });
            Ok(if passes { YES } else { NO }.to_vec())
        })
    }
}

fn configuration(client: &Value) -> Value {
    let rule = |group: &str, version: &str, resources: &[&str]| json!({"apiGroups": [group], "apiVersions": [version], "operations": ["CREATE", "UPDATE", "DELETE"], "resources": resources});
    let ours = format!(
        "request.userInfo.username == '{USER}' && (request.namespace.startsWith('{STOPPED}') || request.resource.resource == 'secrets')"
    );
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "barrier"},
        "webhooks": [{
            "name": "barrier.scenarios.test",
            "admissionReviewVersions": ["v1"],
            "clientConfig": client,
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "timeoutSeconds": 20,
            "matchConditions": [{"name": "controller", "expression": ours}],
            "rules": [
                rule("", "v1", &["persistentvolumeclaims", "secrets", "pods/eviction"]),
                rule("apps", "v1", &["statefulsets"]),
                rule("claim-rollout.io", "v1alpha1", &["claimrollouts", "claimrollouts/status"]),
            ],
        }],
    })
}

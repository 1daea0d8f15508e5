//! Somebody who tries to create the StatefulSet just before the CREATE of the controller is stored: a webhook that is
//! called for that CREATE. No other time is worse, and here it does not depend on the speed of the machine.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::ensure;
use claim_rollout::controller::crd::ClaimRollout;
use claim_rollout::webhook::{Engine, Evaluation, Identity, Limits, Running, serve};
use k8s_openapi::api::apps::v1::StatefulSet;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::cluster::replacing::denying::probe;
use crate::world::installation::USER;
use crate::world::namespace::{PATIENCE, TestNamespace};
use crate::world::web::Web;
use crate::world::{base64, eventually};

/// How often the intruder tries once the report is lost, and the pause between two tries.
const TRIES: u32 = 100;
const PAUSE: Duration = Duration::from_millis(20);

/// What the intruder does with the report of the controller, from which the guard knows the replicas.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Report {
    Kept,
    /// It is as if the controller had not been able to write it.
    Lost,
}

/// The answers to the intruder.
#[derive(Default)]
struct Answers {
    /// The message of the first denial.
    denial: String,
    has_succeeded: bool,
}

#[derive(Clone)]
struct Intruder {
    sets: Api<StatefulSet>,
    set: Arc<StatefulSet>,
    rollouts: Api<ClaimRollout>,
    report: Report,
    answers: Arc<Mutex<Answers>>,
    calls: Arc<AtomicUsize>,
}

impl Intruder {
    /// Creates the StatefulSet, if it can.
    async fn create(&self) -> bool {
        let created = self.sets.create(&PostParams::default(), &self.set).await;
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        match created {
            Ok(_) => answers.has_succeeded = true,
            Err(error) if answers.denial.is_empty() => answers.denial = error.to_string(),
            Err(_) => {}
        }
        answers.has_succeeded
    }

    async fn intrude(&self) {
        if self.create().await || self.report == Report::Kept {
            return;
        }
        drop(lose_report(&self.rollouts).await);
        for _ in 0..TRIES {
            if self.create().await {
                return;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// It is as if the controller had not been able to report the replicas.
pub(crate) async fn lose_report(rollouts: &Api<ClaimRollout>) -> kube::Result<()> {
    let lost = json!({"status": {"replacement": {"replicas": null}}});
    let (params, patch) = (PatchParams::default(), Patch::Merge(&lost));
    rollouts.patch_status("web", &params, &patch).await.map(drop)
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
                self.intrude().await;
            }
            Ok(br#"{"accepted":true}"#.to_vec())
        })
    }
}

/// An intruder in one namespace, until this is dropped.
pub(crate) struct Intrusion {
    answers: Arc<Mutex<Answers>>,
    _running: Running,
}

impl Intrusion {
    /// Waits for each CREATE of the controller, and tries to create this StatefulSet first.
    pub(crate) async fn begin(ns: &TestNamespace<'_>, web: &Web, report: Report) -> anyhow::Result<Self> {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()])?;
        let identity = Identity {
            certificates: made.cert.pem(),
            key: made.signing_key.serialize_pem(),
        };
        let intruder = Intruder {
            sets: Api::namespaced(ns.client.clone(), &ns.namespace),
            set: Arc::new(serde_json::from_value(web.value())?),
            rollouts: Api::namespaced(ns.client.clone(), &ns.namespace),
            report,
            answers: Arc::default(),
            calls: Arc::default(),
        };
        let engine: Arc<dyn Engine> = Arc::new(intruder.clone());
        let engines = [("intrude".to_owned(), engine)].into();
        let running = serve(([127, 0, 0, 1], 0).into(), &identity, engines, Limits::default())?;
        let url = format!("https://{}/validate/intrude", running.address());
        register(ns, &url, &identity.certificates).await?;
        let called = eventually("the API server to call the webhook", PATIENCE, async || {
            let arguments = ["create", "-f", "-", "--dry-run=server", "--as", USER];
            let output = ns.kubectl(&arguments, &probe()).await?;
            ensure!(output.success, "{output:?}");
            Ok((intruder.calls.load(Ordering::Relaxed) > 0).then_some(()))
        });
        called.await?;
        Ok(Self {
            answers: intruder.answers,
            _running: running,
        })
    }

    /// The message of the first denial; empty without one.
    pub(crate) fn denial(&self) -> String {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.denial.clone()
    }

    /// True iff the intruder created the StatefulSet.
    pub(crate) fn has_succeeded(&self) -> bool {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.has_succeeded
    }
}

async fn register(ns: &TestNamespace<'_>, url: &str, certificates: &str) -> anyhow::Result<()> {
    let registration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": format!("intrude-{}", ns.namespace)},
        "webhooks": [{
            "name": "intrude.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "NoneOnDryRun",
            "clientConfig": {"url": url, "caBundle": base64(certificates)}, "failurePolicy": "Fail",
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": ns.namespace}},
            "matchConditions": [{"name": "controller", "expression": format!("request.userInfo.username == '{USER}'")}],
            "rules": [{"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["CREATE"],
                "resources": ["statefulsets"]}],
        }],
    });
    ns.target(&registration).await.map(drop)
}

//! Test code: hosts compiled policies as policy-server does, so that tests run what a cluster runs.
//!
//! The same engine (wasmtime through waPC), the same calls, a fresh instance per request, the same limits, and the same
//! errors for capabilities that an entry does not grant. Not included: pulling, verifying and grouping policies, the
//! mode `monitor`, audits, the cache of answers.

mod api;
mod capabilities;
mod module;
mod questions;
mod registration;
mod shipped;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use claim_rollout::webhook::engine::{payload, settings_verdict};
use claim_rollout::webhook::{Engine, EngineError, Engines, Evaluation, Limits, Running};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::https::listen;

pub(crate) use api::{Api, KubeApi, NoApi};
pub(crate) use capabilities::Capabilities;
pub(crate) use module::{HostCall, Module, Runtime, policy_bytes, policy_file, shared_policy};
pub(crate) use questions::{GetResource, Resource, Subject};
pub(crate) use registration::Registration;
pub(crate) use shipped::{Shipped, deployed, documents};

/// The longest body that policy-server accepts: the default of axum.
const BODY_LIMIT: usize = 2_097_152;

/// One entry of policy-server's policies file.
#[derive(Clone)]
pub(crate) struct Policy {
    /// The name in the URL.
    pub(crate) name: String,
    /// The compiled module; entries may share it.
    pub(crate) module: Module,
    /// The settings, as JSON.
    pub(crate) settings: Value,
    /// `hostCapabilities`: paths such as `kubernetes/can_i`, or patterns such as `kubernetes/*`.
    pub(crate) host_capabilities: Vec<String>,
    /// `contextAwareResources`: the kinds that `get_resource` may read.
    pub(crate) context_aware_resources: Vec<Resource>,
    /// `allowedToMutate`.
    pub(crate) allowed_to_mutate: bool,
}

impl Policy {
    /// An entry that may mutate and has no capability.
    pub(crate) fn new(name: &str, module: &Module, settings: Value) -> Self {
        Self {
            name: name.to_owned(),
            module: module.clone(),
            settings,
            host_capabilities: Vec::new(),
            context_aware_resources: Vec::new(),
            allowed_to_mutate: true,
        }
    }

    /// Grants a capability, or all that match a pattern.
    pub(crate) fn granting(mut self, capability: &str) -> Self {
        self.host_capabilities.push(capability.to_owned());
        self
    }

    /// Lets the policy read a kind of resource.
    pub(crate) fn reading(mut self, api_version: &str, kind: &str) -> Self {
        self.context_aware_resources.push(Resource {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
        });
        self
    }

    /// The capabilities of the entry, with the API that answers.
    fn capabilities(&self, api: Arc<dyn Api>) -> Arc<Capabilities> {
        Arc::new(Capabilities::new(
            self.host_capabilities.clone(),
            self.context_aware_resources.clone(),
            api,
        ))
    }
}

/// A policy behind the webhook.
struct Hosted {
    policy: Policy,
    settings: Box<RawValue>,
    capabilities: Arc<Capabilities>,
    pool: Arc<Semaphore>,
    asked: Arc<Asked>,
}

/// The requests that a policy got.
#[derive(Default)]
struct Asked {
    count: AtomicU64,
    last: Mutex<Option<Box<RawValue>>>,
}

/// Policies that are served over HTTPS on a port of 127.0.0.1.
pub(crate) struct PolicyHost {
    running: Running,
    certificate: String,
    asked: BTreeMap<String, Arc<Asked>>,
}

impl PolicyHost {
    /// Serves the policies; `api` answers their lookups. Fails, as policy-server does, if a policy cannot be
    /// initialised or finds its settings invalid.
    pub(crate) async fn start(policies: Vec<Policy>, api: Arc<dyn Api>) -> anyhow::Result<Self> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let pool = Arc::new(Semaphore::new(cores));
        let mut engines = Engines::new();
        let mut asked = BTreeMap::new();
        for policy in policies {
            let name = policy.name.clone();
            let capabilities = policy.capabilities(Arc::clone(&api));
            let settings = to_raw_value(&policy.settings)?;
            let hosted = Hosted {
                policy,
                settings,
                capabilities,
                pool: Arc::clone(&pool),
                asked: Arc::default(),
            };
            hosted.check().await.with_context(|| format!("policy {name}"))?;
            asked.insert(name.clone(), Arc::clone(&hosted.asked));
            engines.insert(name, Arc::new(hosted));
        }
        let limits = Limits {
            body: BODY_LIMIT,
            time: Duration::from_secs(10),
            ..Limits::default()
        };
        let (running, certificate) = listen(engines, limits)?;
        Ok(Self {
            running,
            certificate,
            asked,
        })
    }

    /// The URL of a policy.
    pub(crate) fn url(&self, policy: &str) -> String {
        format!("https://{}/validate/{policy}", self.running.address())
    }

    /// The certificate that the API server must trust, in PEM.
    pub(crate) fn certificate(&self) -> &str {
        &self.certificate
    }

    /// The number of requests that a policy got since the start.
    pub(crate) fn requests(&self, policy: &str) -> u64 {
        self.asked
            .get(policy)
            .map_or(0, |asked| asked.count.load(Ordering::SeqCst))
    }

    /// The last AdmissionRequest that a policy got, as the API server wrote it.
    #[allow(dead_code, reason = "the playground records reviews with it")]
    pub(crate) fn last_request(&self, policy: &str) -> Option<Box<RawValue>> {
        let last = &self.asked.get(policy)?.last;
        last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Answers the requests in flight, and ends.
    pub(crate) async fn stop(self) -> anyhow::Result<()> {
        Ok(self.running.stop().await?)
    }
}

impl Hosted {
    /// Checks a policy as policy-server does before it listens.
    async fn check(&self) -> anyhow::Result<()> {
        let version = self.call("protocol_version", Vec::new()).await?;
        ensure!(version == br#""v1""#, "expected protocol v1, but found another");
        settings_verdict(&self.call("validate_settings", self.settings.get().into()).await?)?;
        Ok(())
    }

    /// Calls a fresh instance, on a thread that may block, as soon as the pool has a free one.
    async fn call(&self, operation: &'static str, payload: Vec<u8>) -> Result<Vec<u8>, EngineError> {
        let failed = |error: String| EngineError::Failed(error);
        let _permit = self.pool.acquire().await.map_err(|error| failed(error.to_string()))?;
        let (module, capabilities) = (self.policy.module.clone(), Arc::clone(&self.capabilities));
        let call = move || module.call(operation, &payload, capabilities);
        let answer = tokio::task::spawn_blocking(call)
            .await
            .map_err(|error| failed(error.to_string()))?;
        answer.map_err(|error| failed(error.to_string()))
    }

    /// The answer, or a denial if the entry may not mutate and the answer changes the object.
    fn constrain(&self, answer: Vec<u8>, object: Option<&Value>) -> Vec<u8> {
        let mutated = || {
            serde_json::from_slice::<Value>(&answer)
                .ok()?
                .get("mutated_object")
                .cloned()
        };
        if self.policy.allowed_to_mutate
            || mutated()
                .filter(|new| !new.is_null())
                .is_none_or(|new| Some(&new) == object)
        {
            return answer;
        }
        let message = format!(
            "Request rejected by policy {}. The policy attempted to mutate the request, but it is currently configured to not allow mutations.", // words: allowed
            self.policy.name
        );
        json!({"accepted": false, "message": message}).to_string().into_bytes()
    }
}

impl Engine for Hosted {
    fn evaluate<'a>(&'a self, request: &'a RawValue, _: Instant) -> Evaluation<'a> {
        self.asked.count.fetch_add(1, Ordering::SeqCst);
        *self.asked.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(request.to_owned());
        Box::pin(async {
            // policy-server decodes the request and encodes it again: keys are sorted, and the last of equal keys
            // stays.
            let again: Value =
                serde_json::from_str(request.get()).map_err(|error| EngineError::Failed(error.to_string()))?;
            let raw = to_raw_value(&again).map_err(|error| EngineError::Failed(error.to_string()))?;
            let answer = self.call("validate", payload(&raw, &self.settings)).await?;
            Ok(self.constrain(answer, again.get("object")))
        })
    }
}

/// `kwctl run`: calls one policy with one payload (`{"request": …, "settings": …}`), and returns the bytes of the
/// answer.
pub(crate) fn run(module: &Module, payload: &[u8], capabilities: Capabilities) -> Result<Vec<u8>, String> {
    module
        .call("validate", payload, Arc::new(capabilities))
        .map_err(|error| error.to_string())
}

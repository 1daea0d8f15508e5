//! Evicts Pods.

use k8s_openapi::api::policy::v1::Eviction;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{DeleteOptions, ObjectMeta, Preconditions};
use kube::ResourceExt;
use kube::api::{Api, PostParams};
use kube::core::Status;

use super::api_calls::{self, ApiOutcome};
use super::context::Context;
use super::error::ReconcileError;
use super::slim_pod::SlimPod;
use super::slim_set::SlimSet;
use crate::rollout::machine::{AttemptedWrite, RoundOutcome};
use crate::rollout::{EventNotice, Evict, EvictReason, Reason};

impl Context {
    /// Evicts a Pod, unless another one has its name by now. If the API server denies the eviction, because of a
    /// PodDisruptionBudget or a missing right, the status reports it and the eviction is retried.
    pub(super) async fn evict(&self, set: &SlimSet, evict: &Evict) -> Result<RoundOutcome, ReconcileError> {
        let namespace = set.namespace().unwrap_or_default();
        let outcome = self.post_eviction(&namespace, [&evict.pod, &evict.uid], false).await;
        tracing::info!(
            namespace,
            set = set.name_any(),
            pod = evict.pod,
            claim = evict.claim.0,
            outcome = outcome.as_str(),
            "evict Pod"
        );
        if matches!(outcome, ApiOutcome::Done(())) {
            self.emit(set, &evicted(set, evict)).await;
        }
        let attempt = AttemptedWrite::Evict(evict.uid.clone());
        let outcome = outcome.and_then(|()| ApiOutcome::Done(None));
        self.answered(set, "Pod", &attempt, (outcome, String::new()))
    }

    /// Asks the API server to evict the Pod of this name and uid.
    pub(super) async fn post_eviction(
        &self,
        namespace: &str,
        [pod, uid]: [&str; 2],
        is_dry_run: bool,
    ) -> ApiOutcome<()> {
        let pods: Api<SlimPod> = Api::namespaced(self.client.clone(), namespace);
        let eviction = Eviction {
            metadata: ObjectMeta {
                name: Some(pod.to_owned()),
                ..ObjectMeta::default()
            },
            delete_options: Some(DeleteOptions {
                dry_run: is_dry_run.then(|| vec!["All".to_owned()]),
                preconditions: Some(Preconditions {
                    uid: Some(uid.to_owned()),
                    resource_version: None,
                }),
                ..DeleteOptions::default()
            }),
        };
        // `Api::evict` of kube 4.2 sends the options under a name that the API server ignores, so the precondition
        // would be lost.
        let post = PostParams {
            dry_run: is_dry_run,
            ..PostParams::default()
        };
        let outcome = api_calls::call(pods.create_subresource::<_, Status>("eviction", pod, &post, &eviction)).await;
        outcome.and_then(|_| ApiOutcome::Done(()))
    }
}

fn evicted(set: &SlimSet, evict: &Evict) -> EventNotice {
    let (pod, claim) = (&evict.pod, &evict.claim.0);
    let why = match evict.reason {
        EvictReason::Remount => {
            format!("{claim} is mounted again: its file system has not grown for a minute")
        }
        EvictReason::ReCreated => format!("{claim}, which is being deleted, is created anew"),
        EvictReason::Lacks => format!("it is created again with {claim}, which it lacks"),
    };
    EventNotice {
        set_uid: set.uid().unwrap_or_default(),
        // A claim that the Pod lacks may not exist yet.
        claim: Some(evict.claim.clone()).filter(|(_, uid)| !uid.is_empty()),
        reason: Reason::PodEvicted,
        message: format!("evicted Pod {pod} ({}) so that {why}", evict.uid),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use kube::Client;
    use kube::client::Body;
    use kube::runtime::reflector::store;
    use serde_json::{Value, json};

    use super::ApiOutcome;
    use crate::controller::fixtures;
    use crate::controller::locking::lock;

    /// Another Pod may have the name by now.
    #[tokio::test]
    async fn eviction_names_the_uid_of_the_pod() {
        for (is_dry_run, dry_run, query) in [(false, Value::Null, ""), (true, json!(["All"]), "dryRun=All")] {
            let sent = Arc::<Mutex<Vec<(String, Value)>>>::default();
            let noted = Arc::clone(&sent);
            let server = move |request: axum::http::Request<Body>| {
                let noted = Arc::clone(&noted);
                async move {
                    let target = format!("{} {}", request.method(), request.uri());
                    let body = request.into_body().collect_bytes().await.unwrap();
                    lock(&noted).push((target, serde_json::from_slice(&body).unwrap()));
                    let done = json!({"kind": "Status", "status": "Success", "code": 201}).to_string();
                    Ok::<_, kube::Error>(axum::http::Response::new(Body::from(done.into_bytes())))
                }
            };
            let client = Client::new(tower::service_fn(server), "default");
            let context = fixtures::context(&client, (store().0, store().0));
            let outcome = context.post_eviction("shop", ["web-0", "u"], is_dry_run).await;
            assert_eq!(outcome, ApiOutcome::Done(()));
            let sent = lock(&sent).clone();
            let [(target, body)] = &sent[..] else {
                panic!("{sent:?}")
            };
            let path = "POST /api/v1/namespaces/shop/pods/web-0/eviction?";
            assert_eq!(target.replace('&', ""), format!("{path}{query}"));
            let mut expected = json!({
                "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "web-0"},
                "deleteOptions": {"preconditions": {"uid": "u"}},
            });
            if is_dry_run {
                expected["deleteOptions"]["dryRun"] = dry_run;
            }
            assert_eq!(*body, expected);
        }
    }
}

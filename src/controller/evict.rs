//! Evictions of Pods whose volumes are to be mounted again.

use k8s_openapi::api::policy::v1::Eviction;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{DeleteOptions, ObjectMeta, Preconditions};
use kube::ResourceExt;
use kube::api::{Api, PostParams};
use kube::core::Status;

use super::act::{self, Outcome};
use super::context::Context;
use super::slim::{Pod, Set};
use super::undone::Undone;
use super::writes::Acted;
use crate::rollout::{EventNotice, Evict, Reason, Seconds};

impl Context {
    /// Evicts a Pod, unless it is another one by now. What the API server does not do, because of a PodDisruptionBudget or
    /// because the controller may not, is told and tried again.
    pub(super) async fn evict(&self, set: &Set, evict: &Evict) -> Acted {
        let namespace = set.namespace().unwrap_or_default();
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &namespace);
        let eviction = Eviction {
            metadata: ObjectMeta {
                name: Some(evict.pod.clone()),
                ..ObjectMeta::default()
            },
            delete_options: Some(DeleteOptions {
                preconditions: Some(Preconditions {
                    uid: Some(evict.uid.clone()),
                    resource_version: None,
                }),
                ..DeleteOptions::default()
            }),
        };
        // Not with `Api::evict`: kube 4.2 names the options so that the API server does not see the precondition.
        let post = PostParams::default();
        let outcome = act::call(pods.create_subresource::<_, Status>("eviction", &evict.pod, &post, &eviction)).await;
        tracing::info!(
            namespace,
            set = set.name_any(),
            pod = evict.pod,
            claim = evict.claim.0,
            outcome = outcome.as_str(),
            "evict Pod"
        );
        let why = match outcome {
            Outcome::Done(_) => {
                self.remember(set, |memory| memory.not_evicted = None);
                self.emit(set, &evicted(set, evict)).await;
                return Acted::Nothing;
            }
            Outcome::Conflict | Outcome::Gone => return Acted::Overtaken,
            Outcome::Refused { message: why, .. } | Outcome::Unsure { why, .. } => why,
        };
        let now = (self.clock)();
        self.remember(set, |memory| {
            memory.not_evicted = Some(Undone::again(memory.not_evicted.as_ref(), why, now));
        });
        Acted::Requeue
    }

    /// Why the last eviction was denied, and when it is tried again.
    pub(super) fn not_evicted(&self, set: &Set) -> Option<(String, Seconds)> {
        let now = (self.clock)();
        let denied = self.remembered(set, |memory| memory.not_evicted.clone()).flatten()?;
        let retry_at = denied.retry_at(now);
        Some((denied.what, retry_at))
    }
}

fn evicted(set: &Set, evict: &Evict) -> EventNotice {
    EventNotice {
        set_uid: set.uid().unwrap_or_default(),
        claim: Some(evict.claim.clone()),
        reason: Reason::PodEvicted,
        message: format!(
            "Pod {} ({}) is evicted, so that {} is mounted again: its file system has not grown for a minute",
            evict.pod, evict.uid, evict.claim.0
        ),
    }
}

//! Evicts Pods.

use kube::ResourceExt;

use super::writer::Writer;
use crate::api::ApiOutcome;
use crate::controller::calls::error::ReconcileError;
use crate::controller::calls::eviction::post_eviction;
use crate::controller::objects::set::SlimSet;
use crate::controller::report::events;
use crate::rollout::machine::{AttemptedWrite, RoundOutcome};
use crate::rollout::{EventNotice, Evict, EvictReason, Reason};

/// Evicts a Pod, unless another one has its name by now. If the API server denies the eviction, because of a
/// PodDisruptionBudget or a missing right, the status reports it and the eviction is retried.
pub(crate) async fn evict(writer: &Writer, set: &SlimSet, evict: &Evict) -> Result<RoundOutcome, ReconcileError> {
    let namespace = set.namespace().unwrap_or_default();
    let outcome = post_eviction(&writer.caller.client, &namespace, [&evict.pod, &evict.uid], false).await;
    tracing::info!(
        namespace,
        set = set.name_any(),
        pod = evict.pod,
        claim = evict.claim.0,
        outcome = outcome.as_str(),
        "evict Pod"
    );
    if matches!(outcome, ApiOutcome::Done(())) {
        events::emit(&writer.caller, set, &evicted(set, evict)).await;
    }
    let attempt = AttemptedWrite::Evict(evict.uid.clone());
    writer.answered(set, "Pod", &attempt, outcome.and_then(|()| ApiOutcome::Done(None)))
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

//! Requests of users to try again now: the annotation `claim-rollout.io/retry` on the ClaimRollout.
//!
//! A request ends the pauses after failed writes, and nothing else: what is written is decided as always, and nothing is
//! decided from the ClaimRollout. A user may want that after the cause of a failure was removed that the controller does
//! not watch, such as the webhook of somebody else.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use kube::ResourceExt;
use kube::api::{Api, Patch};
use serde_json::json;

use crate::controller::calls::api_calls::{call, merge};
use crate::controller::calls::caller::Caller;
use crate::controller::crd::ClaimRollout;
use crate::controller::memory::memories::{Memories, RolloutMemory};
use crate::controller::objects::rollout::SlimRollout;
use crate::controller::objects::set::SlimSet;
use crate::controller::replacing::queue::Replacements;
use crate::rollout::machine::Retry;
use crate::templates::keys;

/// Ends the pauses of the set if a user asks for it in this report. Returns the report with the request if it has no answer yet.
///
/// A request that cannot be removed is remembered, so that it ends the pauses once and not at every reconcile.
pub(super) fn retry_if_asked(
    set: &SlimSet,
    report: Option<Arc<ClaimRollout>>,
    memories: &Memories,
    replacements: &Replacements,
) -> Option<Arc<ClaimRollout>> {
    let asked = report.as_ref().and_then(|report| report.annotations().get(keys::RETRY));
    let Some(asked) = asked else {
        memories.remembered(set, |memory| memory.retry_if_new(None));
        return None;
    };
    let request = Some(hash(asked));
    if memories.remember(set, |memory| memory.retry_if_new(request)) {
        replacements.retry_now(set);
        tracing::info!(
            namespace = set.namespace(),
            set = set.name_any(),
            "a user asks to try again: all pauses end"
        );
    }
    report.filter(|_| memories.remember(set, |memory| memory.retry != Retry::Answered))
}

/// Removes the request, which answers the user: what was tried again is reported.
pub(super) async fn answer_retry(set: &SlimSet, report: &ClaimRollout, memories: &Memories, caller: &Caller) {
    let is_reported = |memory: &mut RolloutMemory| {
        let is_reported = memory.retry == Retry::Reported;
        if is_reported {
            memory.retry = Retry::Answered;
        }
        is_reported
    };
    if memories.remembered(set, is_reported) != Some(true) {
        return;
    }
    let rollouts: Api<SlimRollout> = caller.namespaced(&set.namespace().unwrap_or_default());
    let body = json!({"metadata": {"uid": report.uid(), "annotations": {keys::RETRY: null}}});
    let removed = call(rollouts.patch(&report.name_any(), &merge(), &Patch::Merge(&body))).await;
    caller.metrics.report_write(removed.as_str());
    let (namespace, set, removed) = (set.namespace(), set.name_any(), removed.as_str());
    tracing::info!(namespace, set, removed, "tried again, and reported");
}

/// A request may be long, and only whether it is new matters.
fn hash(asked: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    asked.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
#[path = "retry_tests.rs"]
mod tests;

//! Requests of users to try again now: the annotation `claim-rollout.io/retry` on the ClaimRollout.
//!
//! A request ends the pauses after failed writes, and nothing else: what is written is decided as always, and nothing is
//! decided from the ClaimRollout. A user may want that after the cause of a failure was removed that the controller does
//! not watch, such as the webhook of somebody else.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use kube::ResourceExt;
use kube::api::{Api, Patch};
use serde_json::json;

use super::api_calls::{call, merge};
use super::context::Context;
use super::slim_rollout::SlimRollout;
use super::slim_set::SlimSet;
use crate::templates::keys;

impl Context {
    /// Ends the pauses of the set if a user asks for it, and removes the request, which answers the user.
    ///
    /// A request that cannot be removed is remembered, so that it ends the pauses once and not at every reconcile.
    pub(super) async fn retry_if_asked(&self, set: &SlimSet) {
        let report = self.report_of(set);
        let asked = report.as_ref().and_then(|report| report.annotations().get(keys::RETRY));
        let Some((report, asked)) = report.as_ref().zip(asked) else {
            self.remembered(set, |memory| memory.retry_if_new(None));
            return;
        };
        if !self.remember(set, |memory| memory.retry_if_new(Some(hash(asked)))) {
            return;
        }
        self.replacements.retry_now(set);
        let rollouts: Api<SlimRollout> = Api::namespaced(self.client.clone(), &set.namespace().unwrap_or_default());
        let body = json!({"metadata": {"uid": report.uid(), "annotations": {keys::RETRY: null}}});
        let removed = call(rollouts.patch(&report.name_any(), &merge(), &Patch::Merge(&body))).await;
        self.metrics.report_write(removed.as_str());
        let (namespace, set, removed) = (set.namespace(), set.name_any(), removed.as_str());
        tracing::info!(namespace, set, removed, "a user asks to try again: all pauses end");
    }
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

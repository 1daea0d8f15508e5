//! Reads the quotas of a namespace before the first write of a rollout, and while the rollout does not fit.
//!
//! They are optional: if they cannot be read, the API server denies each PVC that does not fit.

use kube::Client;
use kube::api::{Api, ListParams};

use crate::api::{ApiOutcome, Seconds};
use crate::controller::calls::api_calls::outcome;
use crate::controller::memory::memories::Memories;
use crate::controller::objects::blockers::SlimQuota;
use crate::controller::objects::set::SlimSet;
use crate::controller::read::lists;
use crate::gate::SetView;
use crate::rollout::Quotas;
use crate::templates::StagedChange;

/// The quotas that were read for the rollout, or `Unread`: most rollouts have begun already and do not need them.
pub(crate) fn known(memories: &Memories, set: &SlimSet, view: &SetView, now: Seconds) -> Quotas {
    let known = memories.remembered(set, |memory| {
        let read = memory.quotas.as_ref()?;
        read.of(&view.staged.as_ref().map(StagedChange::revision)?, now)
    });
    known.flatten().unwrap_or(Quotas::Unread)
}

/// Lists the quotas of a namespace.
pub(crate) async fn list(client: &Client, namespace: &str) -> Quotas {
    let api: Api<SlimQuota> = Api::namespaced(client.clone(), namespace);
    let resources = |quota: SlimQuota| quota.resources().ok();
    let listed = lists::objects(client, api.resource_url(), ListParams::default())
        .fold(resources)
        .await;
    match outcome(listed) {
        ApiOutcome::Done(listed) => Quotas::Known(listed.kept.into_iter().flatten().collect()),
        other => {
            let outcome = other.as_str();
            tracing::info!(
                namespace,
                outcome,
                "failed to list quotas; the API server checks each PVC"
            );
            Quotas::Unchecked
        }
    }
}

//! Reads the quotas of a namespace before the first write of a rollout, and while the rollout does not fit.
//!
//! They are optional: if they cannot be read, the API server denies each PVC that does not fit.

use kube::ResourceExt;
use kube::api::{Api, ListParams};

use super::api_calls::{ApiOutcome, outcome};
use super::blockers::SlimQuota;
use super::context::Context;
use super::read::lists;
use super::slim_set::SlimSet;
use crate::api::Seconds;
use crate::gate::SetView;
use crate::rollout::Quotas;
use crate::rollout::machine::QuotaRead;
use crate::templates::{Revision, StagedChange};

impl Context {
    /// The known quotas, or `Unread`: most rollouts have begun already and do not need them.
    pub(super) fn quotas(&self, set: &SlimSet, view: &SetView) -> Quotas {
        let now = (self.clock)();
        let known = self.remembered(set, |memory| {
            let read = memory.quotas.as_ref()?;
            read.of(&view.staged.as_ref().map(StagedChange::revision)?, now)
        });
        known.flatten().unwrap_or(Quotas::Unread)
    }

    /// Reads the quotas for the rollout of this revision.
    pub(super) async fn read_quotas(&self, set: &SlimSet, revision: &Revision) -> Quotas {
        let (namespace, now) = (set.namespace().unwrap_or_default(), (self.clock)());
        let quotas = match self.quota_lists.get(&namespace, now) {
            Some(quotas) => quotas,
            None => self.list_quotas(&namespace, now).await,
        };
        let read = QuotaRead {
            revision: revision.clone(),
            at: now,
            quotas: quotas.clone(),
        };
        self.remember(set, |memory| memory.quotas = Some(Box::new(read)));
        quotas
    }

    async fn list_quotas(&self, namespace: &str, now: Seconds) -> Quotas {
        let api: Api<SlimQuota> = Api::namespaced(self.client.clone(), namespace);
        let resources = |quota: SlimQuota| quota.resources().ok();
        let listed = lists::objects(&self.client, api.resource_url(), ListParams::default())
            .fold(resources)
            .await;
        let quotas = match outcome(listed) {
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
        };
        self.quota_lists.put(namespace, now, &quotas);
        quotas
    }
}

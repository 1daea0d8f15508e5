//! Reads the quotas of a namespace before the first write of a rollout, and while they leave no room for it.
//!
//! Nothing depends on it: where they cannot be read, the API server says on the way what does not fit.

use kube::ResourceExt;
use kube::api::{Api, ListParams};

use super::act::{Outcome, call};
use super::context::Context;
use super::known_quotas::Read;
use super::obstacles::Quota;
use super::slim::Set;
use crate::rollout::{Quotas, Seconds, SetView};
use crate::templates::{Revision, StagedChange};

impl Context {
    /// What is known of the quotas; most rollouts are past the time when anybody asks.
    pub(super) fn quotas(&self, set: &Set, view: &SetView) -> Quotas {
        let now = (self.clock)();
        let known = self.remembered(set, |memory| {
            let read = memory.quotas.as_ref()?;
            read.of(&view.staged.as_ref().map(StagedChange::revision)?, now)
        });
        known.flatten().unwrap_or(Quotas::Unread)
    }

    /// Reads them for the rollout of this revision.
    pub(super) async fn read_quotas(&self, set: &Set, revision: &Revision) -> Quotas {
        let (namespace, now) = (set.namespace().unwrap_or_default(), (self.clock)());
        let quotas = match self.quota_lists.get(&namespace, now) {
            Some(quotas) => quotas,
            None => self.list_quotas(&namespace, now).await,
        };
        let read = Read {
            revision: revision.clone(),
            at: now,
            quotas: quotas.clone(),
        };
        self.remember(set, |memory| memory.quotas = Some(Box::new(read)));
        quotas
    }

    async fn list_quotas(&self, namespace: &str, now: Seconds) -> Quotas {
        let api: Api<Quota> = Api::namespaced(self.client.clone(), namespace);
        // What the API server has in its own memory will do: it judges by a copy as well.
        let quotas = match call(api.list(&ListParams::default().match_any())).await {
            Outcome::Done(list) => Quotas::Known(list.items.iter().flat_map(Quota::resources).collect()),
            other => {
                let outcome = other.as_str();
                tracing::info!(
                    namespace,
                    outcome,
                    "the quotas cannot be read: the API server judges each PVC"
                );
                Quotas::Unchecked
            }
        };
        self.quota_lists.put(namespace, now, &quotas);
        quotas
    }
}

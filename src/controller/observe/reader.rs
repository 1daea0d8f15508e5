//! What a reconcile reads with calls of its own, because no watch shows it.

use std::sync::Arc;

use kube::ResourceExt;

use super::pace::Pace;
use super::quota_cache::SharedQuotas;
use super::{driver_events, quotas};
use crate::controller::calls::caller::Caller;
use crate::controller::crd::ClaimRollout;
use crate::controller::memory::memories::Memories;
use crate::controller::objects::set::SlimSet;
use crate::rollout::machine::{QuotaRead, claim_events};
use crate::rollout::{ClaimProgress, Progress, Quotas};
use crate::templates::Revision;

/// Reads, and shares what was just read.
pub(crate) struct LiveReader {
    pub(crate) caller: Caller,
    pub(crate) memories: Arc<Memories>,
    pub(crate) event_reads: Pace,
    pub(crate) quota_lists: SharedQuotas,
}

impl LiveReader {
    /// Reads the quotas for the rollout of this revision.
    pub(crate) async fn read_quotas(&self, set: &SlimSet, revision: &Revision) -> Quotas {
        let (namespace, now) = (set.namespace().unwrap_or_default(), self.caller.now());
        let quotas = match self.quota_lists.get(&namespace, now) {
            Some(quotas) => quotas,
            None => {
                let quotas = quotas::list(&self.caller.client, &namespace).await;
                self.quota_lists.put(&namespace, now, &quotas);
                quotas
            }
        };
        let read = QuotaRead {
            revision: revision.clone(),
            at: now,
            quotas: quotas.clone(),
        };
        self.memories
            .remember(set, |memory| memory.quotas = Some(Box::new(read)));
        quotas
    }

    /// Reads the Events of one slow PVC of the set, which has this report. True iff there is a new message.
    pub(crate) async fn read_events(&self, set: &SlimSet, report: Option<&ClaimRollout>, progress: &Progress) -> bool {
        let now = self.caller.now();
        let since = |claim: &ClaimProgress| driver_events::since(report, claim);
        let due = self.memories.remember(set, |memory| {
            claim_events::due(&mut memory.claim_events, progress, since, now)
        });
        let Some(uid) = due.filter(|_| self.event_reads.admits(now)) else {
            return false;
        };
        let namespace = set.namespace().unwrap_or_default();
        let message = driver_events::read(&self.caller.client, &namespace, &uid).await;
        self.memories.remember(set, |memory| {
            claim_events::note(&mut memory.claim_events, uid, message, now)
        })
    }
}

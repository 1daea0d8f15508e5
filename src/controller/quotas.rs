//! Reads the quotas of a namespace before the first write of a rollout, and while they leave no room for it.
//!
//! Nothing depends on it: where they cannot be read, the API server says on the way what does not fit.

use std::collections::HashMap;
use std::sync::Mutex;

use kube::ResourceExt;
use kube::api::{Api, ListParams};

use super::act::{Outcome, call};
use super::obstacles::Quota;
use super::reconcile::Context;
use super::slim::Set;
use super::watch::lock;
use crate::rollout::quota::RECHECK;
use crate::rollout::{Quotas, Seconds, SetView};
use crate::templates::{Record, Revision};

/// What was read for the rollout of a revision.
#[derive(Clone, Debug)]
pub(super) struct Read {
    revision: Revision,
    at: Seconds,
    quotas: Quotas,
}

impl Read {
    /// What is known for the rollout of this revision. It is not believed for long, nor after the clock was set back.
    fn of(&self, revision: &Revision, now: Seconds) -> Option<Quotas> {
        let is_fresh = (self.at..self.at.saturating_add(RECHECK)).contains(&now);
        (is_fresh && self.revision == *revision).then(|| self.quotas.clone())
    }
}

/// What was read a moment ago, by namespace: where many rollouts begin at once, not each of them reads the same.
#[derive(Debug, Default)]
pub(super) struct Shared(Mutex<HashMap<String, (Seconds, Quotas)>>);

impl Shared {
    /// How old what was read may be. The use of a quota is counted no faster.
    const MOMENT: Seconds = 1;

    fn get(&self, namespace: &str, now: Seconds) -> Option<Quotas> {
        let mut known = lock(&self.0);
        known.retain(|_, (at, _)| (*at..=at.saturating_add(Self::MOMENT)).contains(&now));
        known.get(namespace).map(|(_, quotas)| quotas.clone())
    }

    fn put(&self, namespace: &str, now: Seconds, quotas: &Quotas) {
        lock(&self.0).insert(namespace.to_owned(), (now, quotas.clone()));
    }
}

impl Context {
    /// What is known of the quotas; most rollouts are past the time when anybody asks.
    pub(super) fn quotas(&self, set: &Set, view: &SetView) -> Quotas {
        let now = (self.clock)();
        let known = self.remembered(set, |memory| {
            let read = memory.quotas.as_ref()?;
            read.of(&view.staged.as_ref().map(Record::revision)?, now)
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

#[cfg(test)]
mod tests {
    use super::{Quotas, Read, Revision, Shared};

    #[test]
    fn what_was_read_counts_for_one_revision_and_half_a_minute() {
        let read = Read {
            revision: Revision::from_text("r"),
            at: 100,
            quotas: Quotas::Unchecked,
        };
        for (revision, now, expected) in [
            ("r", 100, true),
            ("r", 129, true),
            ("r", 130, false),
            ("r", 99, false),
            ("other", 100, false),
        ] {
            let found = read.of(&Revision::from_text(revision), now);
            assert_eq!(found.is_some(), expected, "{revision} at {now}");
        }
    }

    #[test]
    fn what_was_read_a_moment_ago_is_shared_within_its_namespace() {
        for (namespace, now, expected) in [
            ("shop", 100, true),
            ("shop", 101, true),
            ("shop", 102, false),
            ("shop", 99, false),
            ("mail", 100, false),
        ] {
            let shared = Shared::default();
            shared.put("shop", 100, &Quotas::Unchecked);
            assert_eq!(shared.get(namespace, now).is_some(), expected, "{namespace} at {now}");
        }
    }
}

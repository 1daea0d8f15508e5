//! Reads the quotas of a namespace before the first write of a rollout, and while they leave no room for it.
//!
//! Nothing depends on it: where they cannot be read, the API server says on the way what does not fit.

use kube::ResourceExt;
use kube::api::{Api, ListParams};

use super::act::{Outcome, call};
use super::obstacles::Quota;
use super::reconcile::Context;
use super::slim::Set;
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
        let namespace = set.namespace().unwrap_or_default();
        let api: Api<Quota> = Api::namespaced(self.client.clone(), &namespace);
        // What the API server has in its own memory will do: it judges by a copy as well.
        let quotas = match call(api.list(&ListParams::default().match_any())).await {
            Outcome::Done(list) => Quotas::Known(list.items.iter().flat_map(Quota::resources).collect()),
            other => {
                let (set, outcome) = (set.name_any(), other.as_str());
                tracing::info!(
                    namespace,
                    set,
                    outcome,
                    "the quotas cannot be read: the API server judges each PVC"
                );
                Quotas::Unchecked
            }
        };
        let read = Read {
            revision: revision.clone(),
            at: (self.clock)(),
            quotas: quotas.clone(),
        };
        self.remember(set, |memory| memory.quotas = Some(Box::new(read)));
        quotas
    }
}

#[cfg(test)]
mod tests {
    use super::{Quotas, Read, Revision};

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
}

//! Caches the quotas of a namespace.

use std::collections::HashMap;
use std::sync::Mutex;

use super::locking::lock;
use crate::rollout::quota::RECHECK;
use crate::rollout::{Quotas, Seconds};
use crate::templates::Revision;

/// The quotas that were read for the rollout of a revision.
#[derive(Clone, Debug)]
pub(super) struct QuotaRead {
    pub(super) revision: Revision,
    pub(super) at: Seconds,
    pub(super) quotas: Quotas,
}

impl QuotaRead {
    /// The quotas for the rollout of this revision, unless they are too old or the clock was set back.
    pub(super) fn of(&self, revision: &Revision, now: Seconds) -> Option<Quotas> {
        let is_fresh = (self.at..self.at.saturating_add(RECHECK)).contains(&now);
        (is_fresh && self.revision == *revision).then(|| self.quotas.clone())
    }
}

/// The quotas that were just read, by namespace: rollouts that start at once share one read.
#[derive(Debug, Default)]
pub(super) struct SharedQuotas(Mutex<HashMap<String, (Seconds, Quotas)>>);

impl SharedQuotas {
    /// The maximum age in seconds. The API server does not update the use of a quota faster.
    const MAX_AGE: Seconds = 1;

    pub(super) fn get(&self, namespace: &str, now: Seconds) -> Option<Quotas> {
        let mut known = lock(&self.0);
        known.retain(|_, (at, _)| (*at..=at.saturating_add(Self::MAX_AGE)).contains(&now));
        known.get(namespace).map(|(_, quotas)| quotas.clone())
    }

    pub(super) fn put(&self, namespace: &str, now: Seconds, quotas: &Quotas) {
        lock(&self.0).insert(namespace.to_owned(), (now, quotas.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::{QuotaRead, Quotas, Revision, SharedQuotas};

    #[test]
    fn read_quotas_are_valid_for_one_revision_and_30_seconds() {
        let read = QuotaRead {
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
    fn just_read_quotas_are_shared_in_their_namespace() {
        for (namespace, now, expected) in [
            ("shop", 100, true),
            ("shop", 101, true),
            ("shop", 102, false),
            ("shop", 99, false),
            ("mail", 100, false),
        ] {
            let shared = SharedQuotas::default();
            shared.put("shop", 100, &Quotas::Unchecked);
            assert_eq!(shared.get(namespace, now).is_some(), expected, "{namespace} at {now}");
        }
    }
}

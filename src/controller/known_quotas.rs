//! What was read of the quotas of a namespace, and for how long it is believed.

use std::collections::HashMap;
use std::sync::Mutex;

use super::watch::lock;
use crate::rollout::quota::RECHECK;
use crate::rollout::{Quotas, Seconds};
use crate::templates::Revision;

/// What was read for the rollout of a revision.
#[derive(Clone, Debug)]
pub(super) struct Read {
    pub(super) revision: Revision,
    pub(super) at: Seconds,
    pub(super) quotas: Quotas,
}

impl Read {
    /// What is known for the rollout of this revision. It is not believed for long, nor after the clock was set back.
    pub(super) fn of(&self, revision: &Revision, now: Seconds) -> Option<Quotas> {
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

    pub(super) fn get(&self, namespace: &str, now: Seconds) -> Option<Quotas> {
        let mut known = lock(&self.0);
        known.retain(|_, (at, _)| (*at..=at.saturating_add(Self::MOMENT)).contains(&now));
        known.get(namespace).map(|(_, quotas)| quotas.clone())
    }

    pub(super) fn put(&self, namespace: &str, now: Seconds, quotas: &Quotas) {
        lock(&self.0).insert(namespace.to_owned(), (now, quotas.clone()));
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

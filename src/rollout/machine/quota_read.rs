//! The quotas that were read before the first write of a rollout.

use std::hash::{Hash, Hasher};

use crate::api::Seconds;
use crate::rollout::Quotas;
use crate::rollout::quota::RECHECK;
use crate::templates::Revision;

/// The quotas that were read for the rollout of a revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaRead {
    /// The revision.
    pub revision: Revision,
    /// When they were read.
    pub at: Seconds,
    /// The quotas.
    pub quotas: Quotas,
}

impl Hash for QuotaRead {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (&self.revision, self.at).hash(hasher);
    }
}

impl QuotaRead {
    /// The quotas for the rollout of this revision, unless they are too old or the clock was set back.
    #[must_use]
    pub fn of(&self, revision: &Revision, now: Seconds) -> Option<Quotas> {
        let is_fresh = (self.at..self.at.saturating_add(RECHECK)).contains(&now);
        (is_fresh && self.revision == *revision).then(|| self.quotas.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::{QuotaRead, Quotas, Revision};

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
}

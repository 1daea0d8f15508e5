//! Caches the quotas of a namespace.

use std::collections::HashMap;
use std::sync::Mutex;

use crate::api::Seconds;
use crate::controller::locking::lock;
use crate::rollout::Quotas;

/// The quotas that were just read, by namespace: rollouts that start at once share one read.
#[derive(Debug, Default)]
pub(crate) struct SharedQuotas(Mutex<HashMap<String, (Seconds, Quotas)>>);

impl SharedQuotas {
    /// The maximum age in seconds. The API server does not update the use of a quota faster.
    const MAX_AGE: Seconds = 1;

    pub(crate) fn get(&self, namespace: &str, now: Seconds) -> Option<Quotas> {
        let mut known = lock(&self.0);
        known.retain(|_, (at, _)| (*at..=at.saturating_add(Self::MAX_AGE)).contains(&now));
        known.get(namespace).map(|(_, quotas)| quotas.clone())
    }

    pub(crate) fn put(&self, namespace: &str, now: Seconds, quotas: &Quotas) {
        lock(&self.0).insert(namespace.to_owned(), (now, quotas.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::{Quotas, SharedQuotas};

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

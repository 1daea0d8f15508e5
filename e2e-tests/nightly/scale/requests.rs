//! The requests of a controller to the API server.

use std::collections::BTreeMap;

use crate::world::Cluster;
use crate::world::installation::USER;

/// The number of requests of each kind.
pub(super) struct Requests(BTreeMap<String, usize>);

impl Requests {
    /// All requests of the controllers until now.
    pub(super) async fn until_now(cluster: &Cluster) -> anyhow::Result<Self> {
        let requests = cluster.requests().await?;
        let mut kinds = BTreeMap::new();
        for entry in requests.iter().filter(|entry| entry.user == USER) {
            let parts = [&*entry.verb, " ", &*entry.resource, "/", &*entry.subresource];
            let kind = parts.concat().trim_end_matches('/').to_owned();
            *kinds.entry(kind).or_default() += 1;
        }
        Ok(Self(kinds))
    }

    /// The requests since then.
    pub(super) fn since(self, before: &Self) -> Self {
        let Self(mut kinds) = self;
        for (kind, count) in &mut kinds {
            *count = count.saturating_sub(before.0.get(kind).copied().unwrap_or(0));
        }
        kinds.retain(|_, count| *count > 0);
        Self(kinds)
    }

    /// Prints how many there are for each StatefulSet.
    #[expect(clippy::cast_precision_loss, reason = "there are not so many")]
    pub(super) fn show(&self, sets: usize) {
        let each = |count: usize| count as f64 / sets as f64;
        println!("  {:.2} requests for each set", each(self.0.values().sum()));
        for (kind, count) in &self.0 {
            println!("    {:.2} {kind}", each(*count));
        }
    }
}

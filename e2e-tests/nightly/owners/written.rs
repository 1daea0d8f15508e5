//! What an operator writes, from the audit log.

use std::time::Duration;

use super::known::Known;
use crate::world::namespace::PATIENCE;
use crate::world::{Cluster, Entry, at_rest, kinds};

/// An operator that has written nothing for this long after a change does not write again and again.
pub(super) const QUIET: Duration = Duration::from_secs(30);

/// All writes of the operator, to objects of any kind but Events and the Lease by which it leads.
pub(super) async fn writes(cluster: &Cluster, known: &Known) -> anyhow::Result<Vec<Entry>> {
    let mut entries = cluster.audit().await?;
    let user = known.user();
    entries.retain(|entry| entry.user == user && !["events", "leases"].contains(&entry.resource.as_str()));
    Ok(entries)
}

/// Waits until the operator has not written for this long, and returns all of its writes of this kind.
pub(super) async fn until_rest(
    cluster: &Cluster,
    known: &Known,
    quiet: Duration,
    about: impl Fn(&Entry) -> bool,
) -> anyhow::Result<Vec<Entry>> {
    let written = async || {
        let mut all = writes(cluster, known).await?;
        all.retain(&about);
        Ok(all)
    };
    at_rest("the operator", [quiet, PATIENCE], written).await
}

/// The numbers of the writes by kind, as text.
pub(super) fn in_numbers(writes: &[Entry]) -> String {
    format!(
        "{} writes of the operator ({})",
        writes.len(),
        kinds(writes, Entry::kind)
    )
}

/// The writes to StatefulSets, each as verb and status, without those that lost a race and were repeated.
pub(super) fn of_sets(writes: &[Entry]) -> Vec<(&str, u16)> {
    let is_set =
        |entry: &&Entry| entry.resource == "statefulsets" && (entry.verb.as_str(), entry.code) != ("update", 409);
    let sets = writes.iter().filter(is_set);
    sets.map(|entry| (entry.verb.as_str(), entry.code)).collect()
}

//! All PVCs are created anew.

use anyhow::ensure;
use claim_rollout::templates::keys;

use crate::cluster::recreate::trial::{
    OTHER, anew, claims, prepare, replicas_follow_one_another, steps_of, until_complete,
};
use crate::world::{EXPANDABLE, Entry, World};

/// What we do to three replicas.
const STEPS: [&str; 6] = [
    "delete data-web-2",
    "evict web-2",
    "delete data-web-1",
    "evict web-1",
    "delete data-web-0",
    "evict web-0",
];

pub(super) async fn class_is_changed_one_replica_after_the_other(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "class", &anew(3, EXPANDABLE, "1Gi")).await?;
    let ((_, before), pods) = (claims(&ns).await?, ns.pods().await?);
    // More may be in motion, but not away.
    let output = ns
        .target(&anew(3, OTHER, "1Gi").annotated("max-in-motion", "3"))
        .await?;
    let warning = "PVCs that cannot follow in place are deleted with their data and created anew";
    ensure!(output.stderr.contains(warning), "{output:?}");
    until_complete(&ns, 3, OTHER, "1Gi").await?;
    ns.settled().await?;
    let (_, after) = claims(&ns).await?;
    for (old, new) in before.iter().zip(&after) {
        ensure!(old[0] != new[0] && old[1] != new[1], "{old:?} is {new:?}");
    }
    let now = ns.pods().await?;
    ensure!(pods.iter().all(|pod| !now.contains(pod)), "{pods:?} are {now:?}");
    let written = ns.writes_since(0).await?;
    let steps = steps_of(&written);
    ensure!(steps == STEPS, "{steps:?}");
    replicas_follow_one_another(&written, &[2, 1, 0])?;
    // Before anything else it was written when the staging was seen, and only once.
    let staged_at = |entry: &&Entry| !entry.request.value()["metadata"]["annotations"][keys::STAGED_AT].is_null();
    let is_step = |entry: &&Entry| ["statefulsets", "persistentvolumeclaims", "pods"].contains(&&*entry.resource);
    let ours: Vec<_> = written.ours().filter(is_step).collect();
    ensure!(ours.iter().filter(|entry| staged_at(entry)).count() == 1, "{ours:?}");
    ensure!(ours.first().is_some_and(staged_at), "{ours:?}");
    let events = ns.events().await?;
    for reason in ["ClaimDeleted", "PodEvicted"] {
        ensure!(events.get(reason) == Some(&3), "{events:?}");
    }
    Ok(())
}

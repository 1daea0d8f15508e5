//! The cost of a StatefulSet whose rollout is complete.

use std::ops::RangeInclusive;
use std::time::Duration;

use anyhow::ensure;

use crate::world::installation::USER;
use crate::world::namespace::TestNamespace;
use crate::world::{World, until};

/// Long enough for a change to be seen, and for a watch that ended to be logged.
const A_WHILE: Duration = Duration::from_secs(1);

/// The number of lists of PVCs and Pods by the controller here, and of its ended watches on them.
async fn reads(ns: &TestNamespace<'_>) -> anyhow::Result<(usize, usize)> {
    let requests = ns.cluster.requests().await?;
    let ours = requests
        .iter()
        .filter(|entry| entry.user == USER && entry.namespace == ns.namespace)
        .filter(|entry| ["persistentvolumeclaims", "pods"].contains(&entry.resource.as_str()));
    let count = |verb: &str| ours.clone().filter(|entry| entry.verb == verb).count();
    Ok((count("list"), count("watch")))
}

/// Writes this number into the status of the StatefulSet. The number only grows.
async fn write_status(ns: &TestNamespace<'_>, counts: RangeInclusive<u32>) -> anyhow::Result<()> {
    for count in counts {
        let patch = format!(r#"{{"status": {{"collisionCount": {count}}}}}"#);
        ns.typed(&format!(
            "patch statefulset web --subresource=status --type=merge --patch '{patch}'"
        ))
        .await?;
    }
    tokio::time::sleep(A_WHILE).await;
    Ok(())
}

pub(super) async fn status_change_after_completion_reads_no_claim_and_no_pod(env: &World) -> anyhow::Result<()> {
    let mut ns = env.with_set("settled", 1).await?;
    ns.apply(1, "2Gi").await?;
    ns.until_complete(1, "2Gi").await?;
    let (listed, _) = reads(&ns).await?;
    ensure!(
        listed == 2,
        "expected a list of PVCs and one of Pods, but found {listed}"
    );
    write_status(&ns, 1..=5).await?;
    let (again, _) = reads(&ns).await?;
    ensure!(again == listed, "listed {} times after the end", again - listed);
    // The next rollout in a row uses the same watches.
    ns.apply(1, "3Gi").await?;
    ns.until_complete(1, "3Gi").await?;
    let (again, watched) = reads(&ns).await?;
    ensure!(again == listed, "listed {} times for the next rollout", again - listed);

    // Another controller reads in the ClaimRollout that nothing is left to do.
    ns.controller = None;
    let logged = |now: &(usize, usize)| now.1 == watched + 2;
    let before = until("both watches to be logged", async || reads(&ns).await, logged).await?;
    ns.start_controller(env, &[]).await?;
    write_status(&ns, 6..=10).await?;
    ns.controller = None;
    tokio::time::sleep(A_WHILE).await;
    let after = reads(&ns).await?;
    ensure!(
        after == before,
        "expected (lists, watches) {before:?}, but found {after:?}"
    );

    // The controller reads when there is a reason.
    ns.start_controller(env, &[]).await?;
    ns.typed("scale statefulset web --replicas=2").await?;
    ns.until_reported("two replicas", |rollout| rollout["status"]["updatedReplicas"] == 2)
        .await?;
    let (again, _) = reads(&ns).await?;
    ensure!(
        again == after.0 + 2,
        "expected two lists more than {after:?}, but found {again}"
    );
    Ok(())
}

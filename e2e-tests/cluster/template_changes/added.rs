//! A template is added: the set is replaced, and its Pods restart one at a time, lowest ordinal first.

use anyhow::ensure;

use super::trial::{Watcher, claims, deleted, evicted, has_new_claims, prepare, until_mounted, until_replaced, web};
use crate::world::World;

const ALL: [&str; 5] = ["web-0", "web-1", "web-2", "web-3", "web-4"];

pub(super) async fn pods_are_evicted_one_at_a_time_in_ascending_order(env: &World) -> anyhow::Result<()> {
    let old = web(5, "OrderedReady");
    let ns = prepare(env, "templates-added", &old).await?;
    let (before, pods) = (claims(&ns).await?, ns.pods().await?);
    // The API server would deny it with 422, as the live templates do not have the volume.
    let early = ns
        .kubectl(&["apply", "-f", "-"], &old.and_template("logs").mounting("logs"))
        .await?;
    let denied = "mounts volume logs, whose template is not live yet";
    ensure!(!early.success && early.stderr.contains(denied), "{early:?}");
    let output = ns.target(&old.and_template("logs")).await?;
    let warned = "claim-rollout: staged logs added";
    ensure!(output.stderr.contains(warned), "{output:?}");
    ensure!(
        output
            .stderr
            .contains("then each Pod is evicted, lowest ordinal first, to mount these volumes: logs"),
        "{output:?}"
    );
    let set = ns.set().await?;
    let watcher = Watcher::start(&ns, 5);
    until_replaced(&ns, &set, &["data", "logs"]).await?;
    until_mounted(&ns, 5, &["data", "logs"]).await?;
    let most = watcher.end().await?;
    ensure!(most == 1, "{most} Pods were away at the same time");
    let evicted = evicted(&ns).await?;
    ensure!(evicted == ALL, "{evicted:?}");
    let deleted = deleted(&ns).await?;
    ensure!(deleted.is_empty(), "Kubernetes deleted {deleted:?}");
    ensure!(
        ns.pods().await?.iter().all(|pod| !pods.contains(pod)),
        "a Pod did not restart"
    );
    has_new_claims(&ns, &before, "logs", 5).await?;
    let events = ns.events().await?;
    ensure!(events.get("PodEvicted") == Some(&5), "{events:?}");
    Ok(())
}

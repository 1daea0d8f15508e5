//! SIGKILL before each single write of a rollout, and after the last one. The barrier lets the first k writes pass and
//! holds the next one until the controller is killed, so each k is hit exactly.

use anyhow::{Context as _, ensure};
use futures::future::try_join_all;
use serde_json::Value;

use crate::cluster::recreate::trial::{
    OTHER, anew, prepare, replicas_follow_one_another, start, steps_of, until_complete,
};
use crate::world::namespace::condition;
use crate::world::{EXPANDABLE, World};

/// A rollout whose controller is killed after this many writes. Returns the number of writes.
async fn roll_out(env: &World, namespace: &str, limit: Option<usize>) -> anyhow::Result<usize> {
    let mut ns = prepare(env, namespace, &anew(2, EXPANDABLE, "1Gi")).await?;
    let before = env.barriers.passed(namespace);
    if let Some(limit) = limit {
        env.barriers.hold_after(namespace, before + limit);
    }
    ns.target(&anew(2, OTHER, "1Gi")).await?;
    if limit.is_some() {
        let held_or_ended =
            |rollout: &Value| env.barriers.is_holding(namespace) || condition(rollout, "Ready") == "True";
        ns.until_reported("a write to be held", held_or_ended).await?;
        if let Some(controller) = &mut ns.controller {
            controller.kill()?;
        }
        env.barriers.open_for_others(namespace);
        start(env, &mut ns, true).await?;
    }
    until_complete(&ns, 2, OTHER, "1Gi").await?;
    let written = ns.writes_since(0).await?;
    replicas_follow_one_another(&written, &[1, 0])?;
    let steps = steps_of(&written);
    ensure!(
        steps == ["delete data-web-1", "evict web-1", "delete data-web-0", "evict web-0"],
        "{steps:?}"
    );
    Ok(env.barriers.passed(namespace) - before)
}

pub(super) async fn controller_killed_before_any_write_successor_finishes(env: &World) -> anyhow::Result<()> {
    let writes = roll_out(env, "stopped-alone", None).await?;
    let all = (0..=writes).map(async |limit| {
        let namespace = format!("stopped-killed-{limit}");
        let rollout = roll_out(env, &namespace, Some(limit));
        rollout
            .await
            .with_context(|| format!("killed after write {limit} of {writes}"))
    });
    try_join_all(all).await?;
    println!("a rollout of two replicas takes {writes} writes; killed after 0, 1, 2 ... of them, each ended");
    Ok(())
}

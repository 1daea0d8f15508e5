//! SIGKILL after each single write of a rollout.
//!
//! The barrier lets the first k writes pass and holds the next one until the controller is killed, so each k is hit
//! exactly. The number of status writes depends on timing: a controller whose rollout needs no write k + 1 is killed at
//! the end.

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::world::World;
use crate::world::namespace::condition;
use crate::world::written::{Count, Written};

const REPLICAS: u32 = 2;

/// A rollout in a namespace of its own. After `limit` writes the controller is killed and another one started. Returns
/// how many writes passed in all.
async fn roll_out(env: &World, namespace: &str, limit: Option<usize>) -> anyhow::Result<usize> {
    let mut ns = env.with_set(namespace, REPLICAS).await?;
    let pods = ns.pods().await?;
    if let Some(limit) = limit {
        env.barriers.hold_after(namespace, limit);
    }
    ns.apply(REPLICAS, "2Gi").await?;
    if limit.is_some() {
        let held_or_ended =
            |rollout: &Value| env.barriers.is_holding(namespace) || condition(rollout, "Ready") == "True";
        ns.until_reported("a write to be held", held_or_ended).await?;
        if let Some(controller) = &mut ns.controller {
            controller.kill()?;
        }
        ensure!(
            env.barriers.passed(namespace) <= limit.unwrap_or_default(),
            "too many writes"
        );
        env.barriers.open_for_others(namespace);
        ns.start_controller(env, &[]).await?;
    }
    ns.until_complete(REPLICAS as usize, "2Gi").await?;
    check(&ns.writes_since(0).await?)?;
    ensure!(ns.pods().await? == pods, "Pods restarted");
    Ok(env.barriers.passed(namespace))
}

/// Checks that each PVC was written once, by either controller, and that nothing else happened.
fn check(written: &Written) -> anyhow::Result<()> {
    let count = written.count();
    let expected = Count {
        claims: vec!["data-web-1".to_owned(), "data-web-0".to_owned()],
        changes: 1,
        targets: 1,
        statuses: count.statuses,
        ..Count::default()
    };
    ensure!(count == expected, "{count:?}");
    Ok(())
}

pub(super) async fn controller_killed_after_any_write_successor_completes_it(env: &World) -> anyhow::Result<()> {
    let writes = roll_out(env, "stopped-unharmed", None).await?;
    // The ClaimRollout, two PVCs, the staged change, and a status at the start, in between and at the end.
    ensure!((7..=12).contains(&writes), "{writes} writes");
    let namespaces: Vec<String> = (0..writes).map(|limit| format!("stopped-killed-{limit}")).collect();
    let all = namespaces.iter().enumerate().map(|(limit, namespace)| async move {
        let rollout = roll_out(env, namespace, Some(limit));
        rollout
            .await
            .with_context(|| format!("killed after write {limit} of {writes}"))
    });
    let passed = futures::future::try_join_all(all).await?;
    println!("an unharmed rollout takes {writes} writes; killed after 0, 1, 2 ... of them it takes {passed:?}");
    Ok(())
}

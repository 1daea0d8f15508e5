//! SIGKILL before each single write of a replacement, and after the last one.
//!
//! The barrier lets the first k writes pass and holds the next one until the controller is killed, so each k is hit
//! exactly. `REPEAT=5` does all of it five times.

use anyhow::Context as _;
use futures::future::try_join_all;

use super::held::{Held, undisturbed};
use crate::world::World;

/// A replacement whose controller is killed after this many writes.
async fn killed_after(env: &World, namespace: &str, writes: usize) -> anyhow::Result<()> {
    let mut held = Held::prepare(env, namespace).await?;
    held.replace_until(writes).await?;
    if let Some(controller) = &mut held.ns.controller {
        controller.kill()?;
    }
    held.succeed().await?;
    held.until_replaced().await.with_context(|| held.ns.log())
}

pub(super) async fn controller_killed_before_any_write_successor_finishes(env: &World) -> anyhow::Result<()> {
    let writes = undisturbed(env, "stopped-alone").await?;
    let rounds: usize = std::env::var("REPEAT").map_or(Ok(1), |rounds| rounds.parse())?;
    for round in 0..rounds {
        let all = (0..=writes).map(async |limit| {
            let namespace = format!("stopped-killed-{round}-{limit}");
            let killed = killed_after(env, &namespace, limit);
            killed
                .await
                .with_context(|| format!("killed after write {limit} of {writes}"))
        });
        try_join_all(all).await?;
    }
    println!("a replacement takes {writes} writes; {rounds} times killed after 0, 1, 2 ... of them, each ended");
    Ok(())
}

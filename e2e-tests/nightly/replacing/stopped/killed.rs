//! SIGKILL before each single write of a replacement, and after the last one.
//!
//! The barrier lets the first k writes pass and holds the next one until the controller is killed, so each k is hit
//! exactly. `REPEAT=5` does all of it five times.

use anyhow::Context as _;

use super::held::{Held, after_any_write, undisturbed};
use crate::world::World;
use crate::world::installation::JOURNALS;

/// A replacement whose controller is killed after this many writes.
async fn killed_after(env: &World, namespace: &str, writes: usize) -> anyhow::Result<()> {
    let mut held = Held::killed(env, namespace, writes).await?;
    held.ns.start_controller(env, &[JOURNALS]).await?;
    held.until_replaced().await.with_context(|| held.ns.log())
}

pub(super) async fn controller_killed_before_any_write_successor_finishes(env: &World) -> anyhow::Result<()> {
    let writes = undisturbed(env, "stopped-alone").await?;
    let rounds: usize = std::env::var("REPEAT").map_or(Ok(1), |rounds| rounds.parse())?;
    for round in 0..rounds {
        after_any_write(writes, async |limit| {
            killed_after(env, &format!("stopped-killed-{round}-{limit}"), limit).await
        })
        .await?;
    }
    println!("a replacement takes {writes} writes; {rounds} times killed after 0, 1, 2 ... of them, each ended");
    Ok(())
}

//! Two controllers, at once or one after the other.

use anyhow::{Context as _, ensure};

use super::held::Held;
use crate::cluster::controller::lease::until_it_leads;
use crate::cluster::replacing::trial::start_controller;
use crate::world::World;
use crate::world::installation::JOURNALS;

pub(super) async fn two_controllers_at_once_replace_like_one(env: &World) -> anyhow::Result<()> {
    let held = Held::prepare(env, "stopped-two").await?;
    let other = start_controller(env, "stopped-two").await?;
    held.replace().await?;
    held.until_replaced().await.with_context(|| other.log())
}

/// The leader stops in the middle, as in a rolling update of the controller.
pub(super) async fn next_leader_finishes_what_the_last_one_began(env: &World) -> anyhow::Result<()> {
    let mut held = Held::prepare(env, "stopped-leader").await?;
    let elected = ["--namespace", "stopped-leader", "--leader-elect", JOURNALS];
    let start = async || env.controllers.start(&elected).await;
    held.ns.controller = None;
    let mut first = start().await?;
    until_it_leads(&first).await?;
    let second = start().await?;
    // The StatefulSet is being deleted, and exists.
    let mut writes = 0;
    while held.set().await?["metadata"]["deletionTimestamp"].is_null() {
        ensure!(writes < 20, "it is never deleted");
        writes += 1;
        if writes == 1 {
            held.replace_until(writes).await?;
        } else {
            env.barriers.open_for_one("stopped-leader");
            env.barriers.until_held("stopped-leader").await?;
        }
    }
    first.kill()?;
    env.barriers.open_for_others("stopped-leader");
    until_it_leads(&second).await?;
    held.until_replaced().await.with_context(|| second.log())
}

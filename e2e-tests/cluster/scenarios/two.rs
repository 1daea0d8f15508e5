//! Two controllers.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};

use crate::world::World;
use crate::world::installation::NAMESPACE;
use crate::world::web::Web;

pub(super) async fn two_controllers_at_once_write_like_one(env: &World) -> anyhow::Result<()> {
    let ns = env.with_set("two", 3).await?;
    ns.excepts(|but| but.reported_twice = true);
    let _second = env.controllers.start(&["--namespace", "two"]).await?;
    let begun = ns.mark().await?;
    ns.target(&Web::replicas(3).size("2Gi").image("2")).await?;
    ns.until_complete(3, "2Gi").await?;
    ns.settled().await?;
    let written = ns.writes_since(begun).await?;
    written.pods_follow_their_claims("web", &["data"], &[2, 1, 0])?;
    written.is_a_rollout_by(2, &["data-web-2", "data-web-1", "data-web-0"], 3)?;
    ns.until_event("ClaimRolloutComplete").await?;
    let expected = [
        ("ClaimsStaged", 1),
        ("ClaimUpdated", 3),
        ("ClaimReady", 3),
        ("ClaimRolloutComplete", 1),
    ];
    let expected: BTreeMap<_, _> = expected.map(|(reason, count)| (reason.to_owned(), count)).into();
    let events = ns.events().await?;
    ensure!(events == expected, "{events:?}");
    Ok(())
}

/// The Lease keeps the other controller waiting for fifteen seconds.
pub(super) async fn leader_killed_during_rollout_is_succeeded_by_the_other(env: &World) -> anyhow::Result<()> {
    let elected = [
        "--namespace",
        "stopped-leader",
        "--leader-elect",
        "--system-namespace",
        NAMESPACE,
    ];
    let mut ns = env.namespace("stopped-leader").await?;
    let mut leader = env.controllers.start(&elected).await?;
    ns.target(&Web::replicas(3)).await?;
    ns.settled().await?;
    let begun = ns.mark().await?;
    env.barriers.hold_claim(&ns.namespace, "data-web-1");
    ns.target(&Web::replicas(3).size("2Gi").image("2")).await?;
    let held = env.barriers.until_held(&ns.namespace).await;
    held.with_context(|| leader.log())?;
    ns.controller = Some(env.controllers.start(&elected).await?);
    leader.kill()?;
    env.barriers.open_for_others(&ns.namespace);
    ns.until_complete(3, "2Gi").await?;
    ns.settled().await?;
    let written = ns.writes_since(begun).await?;
    written.pods_follow_their_claims("web", &["data"], &[2, 1, 0])?;
    written.is_a_rollout(&["data-web-2", "data-web-1", "data-web-0"], 3)
}

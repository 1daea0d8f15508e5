//! Two controllers.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};

use super::scene::{Scene, Stage, manifest, with_image};
use crate::installation::NAMESPACE;

pub(super) async fn two_controllers_at_once_write_like_one(stage: &Stage) -> anyhow::Result<()> {
    let mut scene = Scene::with_set(stage, "two", 3).await?;
    scene.exceptions.reported_twice = true;
    let _second = stage.installation.start_controller(&["--namespace", "two"]).await?;
    let begun = scene.mark().await?;
    scene.target(&with_image(&manifest(3, "2Gi"), "2")).await?;
    scene.until_complete(3, "2Gi").await?;
    scene.settled().await?;
    let written = scene.writes_since(begun).await?;
    written.pods_follow_their_claims("web", &["data"], &[2, 1, 0])?;
    written.is_a_rollout(&["data-web-2", "data-web-1", "data-web-0"], 3)?;
    scene.until_event("ClaimRolloutComplete").await?;
    let expected = [
        ("ClaimsStaged", 1),
        ("ClaimUpdated", 3),
        ("ClaimReady", 3),
        ("ClaimRolloutComplete", 1),
    ];
    let expected: BTreeMap<_, _> = expected.map(|(reason, count)| (reason.to_owned(), count)).into();
    let events = scene.events().await?;
    ensure!(events == expected, "{events:?}");
    Ok(())
}

/// The Lease keeps the other controller waiting for fifteen seconds.
pub(super) async fn leader_killed_during_rollout_is_succeeded_by_the_other(stage: &Stage) -> anyhow::Result<()> {
    let elected = [
        "--namespace",
        "stopped-leader",
        "--leader-elect",
        "--lease-namespace",
        NAMESPACE,
    ];
    let mut scene = Scene::new(&stage.cluster, &stage.client, "stopped-leader").await?;
    let mut leader = stage.installation.start_controller(&elected).await?;
    scene.target(&manifest(3, "1Gi")).await?;
    scene.settled().await?;
    let begun = scene.mark().await?;
    stage.barriers.hold_claim(&scene.namespace, "data-web-1");
    scene.target(&with_image(&manifest(3, "2Gi"), "2")).await?;
    let held = stage.barriers.until_held(&scene.namespace).await;
    held.with_context(|| leader.log())?;
    scene.controller = Some(stage.installation.start_controller(&elected).await?);
    leader.kill()?;
    stage.barriers.open_for_others(&scene.namespace);
    scene.until_complete(3, "2Gi").await?;
    scene.settled().await?;
    let written = scene.writes_since(begun).await?;
    written.pods_follow_their_claims("web", &["data"], &[2, 1, 0])?;
    written.is_a_rollout(&["data-web-2", "data-web-1", "data-web-0"], 3)
}

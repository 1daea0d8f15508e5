//! Budgets of storage classes: the PVCs in motion at a time, and the modifications of each PVC per day.

use std::time::{Duration, SystemTime};

use anyhow::{Context as _, ensure};
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use super::scene::{Scene, Stage, condition, manifest, text};
use crate::cluster::eventually;
use crate::scenarios::scene::PATIENCE;

pub(super) async fn pvcs_in_motion_of_two_sets_stay_within_class_budget(stage: &Stage) -> anyhow::Result<()> {
    let mut scene = Scene::new(&stage.cluster, &stage.client, "places").await?;
    scene
        .start_controller(stage, &["--max-modifications=expandable=2", "--max-in-motion=3"])
        .await?;
    let other = |size: &str| {
        let other = manifest(3, size)
            .replace("name: web", "name: other")
            .replace("app: web", "app: other");
        other.replace("serviceName: web", "serviceName: other")
    };
    scene.target(&manifest(3, "1Gi")).await?;
    scene.done(&["apply", "-f", "-"], &other("1Gi")).await?;
    scene.settled().await?;
    let ready = ["rollout", "status", "statefulset/other", "--timeout=120s"];
    scene.done(&ready, "").await?;
    let begun = scene.mark().await?;
    let both = format!("{}---\n{}", manifest(3, "2Gi"), other("2Gi"));
    scene.done(&["apply", "-f", "-"], &both).await?;
    let grown = eventually("all PVCs to grow", PATIENCE, async || {
        let claims = scene.claims().await?;
        Ok(claims
            .iter()
            .all(|claim| claim["status"]["capacity"]["storage"] == "2Gi")
            .then_some(()))
    });
    grown.await.with_context(|| scene.log())?;

    let written = scene.writes_since(begun).await?;
    let mut times = Vec::new();
    for set in ["web", "other"] {
        for ordinal in 0..3 {
            let claim = format!("data-{set}-{ordinal}");
            times.push((written.applied(&claim)?, 1_i32));
            times.push((written.ready(&claim)?, -1));
        }
    }
    times.sort_unstable();
    let in_motion = times.iter().scan(0, |count, (_, step)| {
        *count += step;
        Some(*count)
    });
    let most = in_motion.max();
    ensure!(
        most == Some(2),
        "expected 2 in motion at most, but found {most:?}: {times:?}"
    );
    Ok(())
}

fn in_words(time: SystemTime) -> anyhow::Result<String> {
    let time = time.duration_since(SystemTime::UNIX_EPOCH)?;
    Ok(Timestamp::from_second(i64::try_from(time.as_secs())?)?.to_string())
}

pub(super) async fn pvc_with_spent_modifications_waits_until_a_day_has_passed(stage: &Stage) -> anyhow::Result<()> {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    let mut scene = Scene::new(&stage.cluster, &stage.client, "per-day").await?;
    scene.target(&manifest(2, "1Gi")).await?;
    scene.settled().await?;
    #[allow(
        clippy::disallowed_methods,
        reason = "what is noted is compared with the time of the controller"
    )]
    let now = SystemTime::now();
    // One of two modifications is more than a day old. The other one will be soon, but late enough that the rollout is
    // seen to wait.
    let (older, old) = (
        in_words(now - DAY - DAY)?,
        in_words(now - DAY + Duration::from_secs(25))?,
    );
    let noted = json!({"metadata": {"annotations": {"claim-rollout.io/modified": format!("{older},{old}")}}});
    scene
        .done(&["patch", "pvc", "data-web-1", "-p", &noted.to_string()], "")
        .await?;
    scene
        .start_controller(stage, &["--modifications-per-24h=expandable=1"])
        .await?;
    let pods = scene.pods().await?;
    let begun = scene.mark().await?;
    scene.apply(2, "2Gi").await?;
    let waits = |rollout: &Value| rollout["status"]["conditions"][0]["reason"] == "WaitsForBudget";
    let rollout = scene.until_reported("a budget", waits).await?;
    let first = &rollout["status"]["claims"][0];
    ensure!(
        first["name"] == "data-web-1" && first["state"] == "Pending",
        "{rollout:#}"
    );
    let until = in_words(now + Duration::from_secs(25))?;
    let why = format!("which is all that storage class expandable allows: goes on at {until}");
    ensure!(
        text(&first["message"]).contains(&why),
        "expected {why}, but found {rollout:#}"
    );
    ensure!(condition(&rollout, "Stalled") == "False", "{rollout:#}");
    let count = scene.writes_since(begun).await?.count();
    ensure!(count.claims.is_empty(), "{count:?}");

    scene.until_complete(2, "2Gi").await?;
    ensure!(scene.pods().await? == pods, "Pods restarted");
    scene
        .writes_since(begun)
        .await?
        .is_a_rollout(&["data-web-1", "data-web-0"], 0)?;
    for claim in scene.claims().await? {
        let noted = text(&claim["metadata"]["annotations"]["claim-rollout.io/modified"]);
        ensure!(
            noted.parse::<Timestamp>().is_ok() && noted >= in_words(now)?,
            "{noted} in {claim:#}"
        );
    }
    let events = scene.events().await?;
    ensure!(!events.contains_key("ClaimRolloutStalled"), "{events:?}");
    Ok(())
}

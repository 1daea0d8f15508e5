//! Budgets of storage classes: the PVCs in motion at a time, and the modifications of each PVC per day.

use std::time::{Duration, Instant, SystemTime};

use anyhow::ensure;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use crate::world::World;
use crate::world::namespace::{TestNamespace, condition, text};
use crate::world::web::Web;

fn in_words(time: SystemTime) -> anyhow::Result<String> {
    let time = time.duration_since(SystemTime::UNIX_EPOCH)?;
    Ok(Timestamp::from_second(i64::try_from(time.as_secs())?)?.to_string())
}

/// Notes when the PVC was modified.
async fn note(ns: &TestNamespace<'_>, [first, last]: [SystemTime; 2]) -> anyhow::Result<()> {
    let times = format!("{},{}", in_words(first)?, in_words(last)?);
    let noted = json!({"metadata": {"annotations": {"claim-rollout.io/modified": times}}});
    ns.done(&["patch", "pvc", "data-web-1", "-p", &noted.to_string()], "")
        .await
        .map(drop)
}

pub(super) async fn pvc_with_spent_modifications_waits_until_a_day_has_passed(env: &World) -> anyhow::Result<()> {
    const HOUR: Duration = Duration::from_secs(60 * 60);
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    let mut ns = env.namespace("per-day").await?;
    ns.target(&Web::replicas(2)).await?;
    ns.settled().await?;
    #[allow(
        clippy::disallowed_methods,
        reason = "what is noted is compared with the time of the controller"
    )]
    let (now, begun_at) = (SystemTime::now(), Instant::now());
    // Of two modifications one is more than a day old, and the other one is not, for another hour.
    let older = now - DAY - DAY;
    note(&ns, [older, now - DAY + HOUR]).await?;
    ns.start_controller(env, &["--modifications-per-24h=expandable=1"])
        .await?;
    let pods = ns.pods().await?;
    let begun = ns.mark().await?;
    ns.apply(2, "2Gi").await?;
    let waits = |rollout: &Value| rollout["status"]["conditions"][0]["reason"] == "WaitsForBudget";
    let rollout = ns.until_reported("a budget", waits).await?;
    let first = &rollout["status"]["claims"][0];
    ensure!(
        first["name"] == "data-web-1" && first["state"] == "Pending",
        "{rollout:#}"
    );
    let until = in_words(now + HOUR)?;
    let why = format!("the limit of storage class expandable; continues at {until}");
    ensure!(
        text(&first["message"]).contains(&why),
        "expected {why}, but found {rollout:#}"
    );
    ensure!(condition(&rollout, "Stalled") == "False", "{rollout:#}");
    let count = ns.writes_since(begun).await?.count();
    ensure!(count.claims.is_empty(), "{count:?}");

    // In five seconds it is a day old.
    let soon = begun_at.elapsed() + Duration::from_secs(5);
    note(&ns, [older, now - DAY + soon]).await?;
    ns.until_complete(2, "2Gi").await?;
    ensure!(ns.pods().await? == pods, "Pods restarted");
    ns.writes_since(begun)
        .await?
        .is_a_rollout(&["data-web-1", "data-web-0"], 0)?;
    for claim in ns.claims().await? {
        let noted = text(&claim["metadata"]["annotations"]["claim-rollout.io/modified"]);
        ensure!(
            noted.parse::<Timestamp>().is_ok() && noted >= in_words(now)?,
            "{noted} in {claim:#}"
        );
    }
    let events = ns.events().await?;
    ensure!(!events.contains_key("ClaimRolloutStalled"), "{events:?}");
    Ok(())
}

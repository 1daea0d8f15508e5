//! `minReadySeconds`: a Pod is available when it has been Ready for that long.

use anyhow::{Context as _, ensure};
use jiff::Timestamp;
use serde_json::json;

use crate::world::World;
use crate::world::web::Web;

const SECONDS: i64 = 3;

pub(super) async fn next_claims_wait_for_new_pod_but_not_for_claims_alone(env: &World) -> anyhow::Result<()> {
    let of = |size: &str, seconds: i64| {
        let web = Web::replicas(2).size(size);
        web.spec(&json!({"minReadySeconds": seconds}))
    };
    let ns = env.with_web("available", &of("1Gi", SECONDS)).await?;
    let begun = ns.mark().await?;
    ns.target(&of("2Gi", SECONDS).image("2")).await?;
    ns.until_complete(2, "2Gi").await?;
    ns.settled().await?;
    let written = ns.writes_since(begun).await?;
    written.pods_follow_their_claims("web", &["data"], &[1, 0])?;
    written.is_a_rollout(&["data-web-1", "data-web-0"], 2)?;
    let (_, ran) = written.replaced("web-1", written.applied("data-web-1")?)?;
    let pause = seconds_between(&written, ran, written.applied("data-web-0")?)?;
    // The time of readiness has whole seconds.
    ensure!(pause > (SECONDS - 1) as f64, "it waited {pause} s");

    // No Pod is available for an hour, but none is new.
    let begun = ns.mark().await?;
    ns.target(&of("3Gi", 3600).image("2")).await?;
    ns.until_complete(2, "3Gi").await?;
    let written = ns.writes_since(begun).await?;
    written.claims_follow_one_another(&["data-web-1", "data-web-0"])?;
    written.is_a_rollout(&["data-web-1", "data-web-0"], 0)?;
    Ok(())
}

/// Seconds between two writes.
fn seconds_between(written: &crate::world::written::Written, first: u64, second: u64) -> anyhow::Result<f64> {
    let answered = |version: u64| -> anyhow::Result<Timestamp> {
        let entry = written.all.iter().find(|entry| entry.version == version);
        Ok(entry.context("a write")?.stage_timestamp.parse()?)
    };
    Ok(answered(second)?.duration_since(answered(first)?).as_secs_f64())
}

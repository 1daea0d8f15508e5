//! The policy is removed in the middle of a rollout, and installed again.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use claim_rollout::templates::{HELD, StagedChange};
use serde_json::{Value, json};

use super::held::held_at;
use crate::world::manifests::bound_elsewhere;
use crate::world::namespace::{PATIENCE, STAGED, TestNamespace, condition, text};
use crate::world::served::Served;
use crate::world::web::Web;
use crate::world::{World, eventually};

/// Writes the staged change, as any user can who may edit the StatefulSet.
async fn forge(ns: &TestNamespace<'_>, change: &str) -> anyhow::Result<()> {
    let annotation = format!("{STAGED}={change}");
    ns.typed(&format!("annotate statefulset web {annotation} --overwrite"))
        .await?;
    Ok(())
}

/// Excludes this namespace from the guard.
async fn without_the_guard(ns: &TestNamespace<'_>) -> anyhow::Result<()> {
    let patch = bound_elsewhere(&ns.namespace);
    ns.typed(&format!(
        "patch validatingadmissionpolicybinding claim-rollout-staged --type=merge -p '{patch}'"
    ))
    .await?;
    Ok(())
}

/// Makes unrelated changes until the condition Stalled of the ClaimRollout has this reason.
async fn until_stalled(ns: &TestNamespace<'_>, reason: &str) -> anyhow::Result<Value> {
    let mut count = 0;
    let stalled = eventually(reason, PATIENCE, async || {
        count += 1;
        let note = format!("note={count}");
        ns.typed(&format!("label statefulset web {note} --overwrite")).await?;
        let rollout = ns.rollout().await?;
        Ok((rollout["status"]["conditions"][2]["reason"] == reason).then_some(rollout))
    });
    stalled.await.with_context(|| ns.log())
}

pub(super) async fn without_policy_and_guard_no_rollout_until_policy_is_back(env: &World) -> anyhow::Result<()> {
    let ns = env.with_set("stopped-absent", 3).await?;
    without_the_guard(&ns).await?;
    let served = Served::start(&ns, &json!({})).await?;
    held_at(env, &ns, "data-web-1", &Web::replicas(3).size("2Gi")).await?;
    served.go().await?;

    // The same apply again has the result of a stock cluster.
    let again = ns.kubectl(&["apply", "-f", "-"], &Web::replicas(3).size("2Gi")).await?;
    // Which of the two errors it is depends on the minor version.
    ensure!(!again.success && again.stderr.contains("is invalid: spec"), "{again:?}");
    // The controller notices within some seconds, in which it would do the rest. It does not reconcile a complete
    // rollout any more.
    let paused = "claim-rollout.io/paused";
    ns.typed(&format!("annotate statefulset web {paused}=true")).await?;
    env.barriers.open(&ns.namespace);
    let rollout = until_stalled(&ns, "PolicyMissing").await?;
    ns.typed(&format!("annotate statefulset web {paused}-")).await?;
    ensure!(condition(&rollout, "Stalled") == "True", "{rollout:#}");
    let why = text(&rollout["status"]["conditions"][2]["message"]);
    ensure!(why.contains("--allow-without-policy"), "{why}");

    // Whatever users write now, no PVC is written.
    let begun = ns.mark().await?;
    let honest = text(&ns.set().await?["metadata"]["annotations"][STAGED]);
    let uid = text(&ns.set().await?["metadata"]["uid"]);
    let mut larger = StagedChange::read(&honest, &uid)?;
    larger.templates[0].storage = Some("3Gi".parse()?);
    forge(&ns, &larger.write()?).await?;
    ns.until_reported("the forgery", |rollout| {
        rollout["status"]["updateRevision"] == larger.revision().as_str()
    })
    .await?;
    until_stalled(&ns, "PolicyMissing").await?;
    let count = ns.writes_since(begun).await?.count();
    ensure!(count.claims.is_empty() && count.changes == 0, "{count:?}");

    forge(&ns, &honest).await?;
    // The API server writes times in whole seconds.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    served.come().await?;
    held_until_applied_again(&ns, &honest).await
}

/// What was staged before the policy came back is not rolled out, whatever else somebody writes, until somebody applies
/// the same manifest again.
async fn held_until_applied_again(ns: &TestNamespace<'_>, staged: &str) -> anyhow::Result<()> {
    let begun = ns.mark().await?;
    let rollout = until_stalled(ns, "StagedBeforePolicy").await?;
    let why = text(&rollout["status"]["conditions"][2]["message"]);
    ensure!(why.contains("apply it again"), "{why}");
    let held = ns
        .until("the hold", "statefulset/web", |set| {
            set["metadata"]["annotations"][READY] == HELD
        })
        .await?;
    let held = &held["metadata"]["annotations"];
    ensure!(held[STAGED] == staged, "{held:#}");
    // By the manager that wrote the staged change last, so that its time is that of now.
    ns.typed("annotate statefulset web example.com/note=1").await?;
    until_stalled(ns, "StagedBeforePolicy").await?;
    let count = ns.writes_since(begun).await?.count();
    ensure!(count.claims.is_empty(), "{count:?}");

    ns.apply(3, "2Gi").await?;
    let annotations = ns.set().await?["metadata"]["annotations"].clone();
    ensure!(
        annotations[STAGED] != staged && annotations[READY] != HELD,
        "{annotations:#}"
    );
    ns.until_complete(3, "2Gi").await?;
    let mut claims = ns.writes_since(0).await?.count().claims;
    claims.sort();
    claims.dedup();
    ensure!(claims == ["data-web-0", "data-web-1", "data-web-2"], "{claims:?}");
    // The same manifest again is no other staging.
    let staged = text(&ns.set().await?["metadata"]["annotations"][STAGED]);
    ns.apply(3, "2Gi").await?;
    ensure!(
        ns.set().await?["metadata"]["annotations"][STAGED] == *staged,
        "staged again"
    );
    Ok(())
}

const READY: &str = "claim-rollout.io/ready";

//! `stageOwnedBy` names Prometheus: a larger size is staged, and the controller rolls it out.

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::prometheus::PROMETHEUS;
use super::trial::{Before, Owned, settings};
use super::written::of_sets;
use crate::cluster::replacing::denying::Denial;
use crate::world::{Entry, World, until};

/// The most attempts of the operator at a request that is denied: it waits 5 ms after the first, then twice as long
/// each time.
const ATTEMPTS: usize = 20;

pub(super) async fn growth_restarts_no_pod_and_the_operator_rests(env: &World) -> anyhow::Result<()> {
    let web = Owned::named(env, &PROMETHEUS, "owned-staged", json!({})).await?;
    web.allow_patches().await?;
    let before = web.before().await?;
    web.resize("2Gi").await?;
    web.until_complete("2Gi").await?;
    let writes = web.writes_since(&before).await?;
    before.is_left(&web).await?;
    ensure!(of_sets(&writes) == [("update", 200)], "{:?}", of_sets(&writes));

    // Another change of the Prometheus: the operator sends all of its templates again.
    let before = web.before().await?;
    web.touch().await?;
    let writes = web.writes_since(&before).await?;
    before.is_left(&web).await?;
    ensure!(of_sets(&writes) == [("update", 200)], "{:?}", of_sets(&writes));
    web.until_complete("2Gi").await
}

pub(super) async fn growth_without_the_right_is_denied(env: &World) -> anyhow::Result<()> {
    let web = Owned::named(env, &PROMETHEUS, "owned-denied", json!({})).await?;
    let before = web.before().await?;
    web.resize("2Gi").await?;
    is_denied(&web, &before, "1Gi").await?;

    web.allow_patches().await?;
    web.touch().await?;
    web.until_complete("2Gi").await?;
    before.is_left(&web).await
}

pub(super) async fn smaller_size_is_denied_and_deletes_nothing(env: &World) -> anyhow::Result<()> {
    let web = Owned::named(env, &PROMETHEUS, "owned-smaller", json!({})).await?;
    web.allow_patches().await?;
    let before = web.before().await?;
    web.resize("512Mi").await?;
    is_denied(&web, &before, "1Gi").await?;
    let hash = async || anyhow::Ok(web.set().await?["metadata"]["annotations"].take());
    let stored = hash().await?;
    web.resize("1Gi").await?;
    // Its next attempt, after a pause, is not denied.
    until("the operator to write", async || hash().await, |now| *now != stored).await?;
    before.is_left(&web).await
}

/// Waits until the operator has tried in vain, and checks that nothing has changed.
async fn is_denied(web: &Owned<'_>, before: &Before, size: &str) -> anyhow::Result<()> {
    let writes = web.writes_since(before).await?;
    before.is_left(web).await?;
    let writes = of_sets(&writes);
    let all = writes.iter().all(|write| *write == ("update", 403));
    ensure!(all && (1..=ATTEMPTS).contains(&writes.len()), "{writes:?}");
    web.has_sizes(size).await
}

/// The operator copies annotations of the Prometheus to the StatefulSet.
pub(super) async fn annotated_set_is_replaced_and_restarts_no_pod(env: &World) -> anyhow::Result<()> {
    let annotations = json!({"claim-rollout.io/replace-set": "WhenComplete"});
    let web = Owned::named(env, &PROMETHEUS, "owned-annotated", annotations).await?;
    is_replaced(&web).await.map(drop)
}

/// The controller is slower than the operator, which creates the StatefulSet as soon as it is absent.
pub(super) async fn set_created_by_the_operator_is_as_good(env: &World) -> anyhow::Result<()> {
    let settings = settings(&PROMETHEUS, &json!({"defaultReplaceSet": "WhenComplete"}));
    let web = Owned::new(env, &PROMETHEUS, "owned-created", &settings, json!({})).await?;
    let denial = Denial::of_the_create(&web.ns).await?;
    let writes = is_replaced(&web).await?;
    let created = writes
        .iter()
        .filter(|entry| (&*entry.verb, entry.code) == ("create", 201));
    let created = created.filter(|entry| entry.resource == "statefulsets").count();
    ensure!(created == 1, "the operator created {created} StatefulSets");
    denial.end(&web.ns).await
}

/// Grows the volumes, and waits until the StatefulSet is replaced and the operator is at rest. Returns its writes since
/// then.
async fn is_replaced(web: &Owned<'_>) -> anyhow::Result<Vec<Entry>> {
    web.allow_patches().await?;
    let before = web.before().await?;
    web.resize("2Gi").await?;
    let is_replaced = |rollout: &Value| rollout["status"]["replacement"]["phase"] == "Replaced";
    web.until_reported("the StatefulSet to be replaced", is_replaced)
        .await?;
    let set = web.until_ready().await?;
    let writes = web.writes_since(&before).await?;
    before.is_replaced(web, "2Gi").await?;
    let now = web.set().await?;
    ensure!(
        now["metadata"]["uid"] == set["metadata"]["uid"],
        "a further StatefulSet"
    );
    // Until the new StatefulSet has adopted the Pods, the guard denies what the operator sends.
    let of_sets = of_sets(&writes);
    let (first, further) = of_sets.split_first().context("a write")?;
    ensure!(*first == ("update", 200) && further.len() <= ATTEMPTS, "{of_sets:?}");
    ensure!(!further.iter().any(|(verb, _)| *verb == "delete"), "{of_sets:?}");
    Ok(writes)
}

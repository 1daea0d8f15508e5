//! A client that writes all the time: whatever the API server has acknowledged is kept.
//!
//! `REPLACEMENTS=200` replaces so many.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use futures::future::try_join_all;
use k8s_openapi::api::apps::v1::StatefulSet;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;

use super::super::trial::journals;
use super::held::Held;
use super::{Environment, PATIENCE};
use crate::cluster::eventually;

const PAUSE: Duration = Duration::from_millis(20);
/// The beginning of the keys of its annotations.
const NOTE: &str = "note.example.com/n";

/// What the API server has acknowledged.
#[derive(Default)]
struct Acknowledged {
    /// The numbers of the annotations.
    notes: Vec<usize>,
    /// Whether the StatefulSet was scaled while it was being deleted.
    scaled: bool,
}

/// Writes an annotation of its own every 20 ms, and scales once while the StatefulSet is being deleted.
async fn write(sets: Api<StatefulSet>) -> anyhow::Result<Acknowledged> {
    let mut acknowledged = Acknowledged::default();
    let params = PatchParams::default();
    let mut uid = None;
    for number in 0.. {
        let patch = json!({"metadata": {"annotations": {format!("{NOTE}{number}"): "acknowledged"}}});
        // In the milliseconds without the StatefulSet, the answer is 404.
        if let Ok(set) = sets.patch("web", &params, &Patch::Merge(&patch)).await {
            acknowledged.notes.push(number);
            let first = uid.get_or_insert_with(|| set.metadata.uid.clone());
            if *first != set.metadata.uid && set.metadata.finalizers.is_none() {
                break;
            }
            if !acknowledged.scaled && set.metadata.deletion_timestamp.is_some() {
                let patch = json!({"spec": {"replicas": 3}});
                acknowledged.scaled = sets.patch("web", &params, &Patch::Merge(&patch)).await.is_ok();
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(acknowledged)
}

/// One replacement beside the writer. Returns the number of acknowledged writes.
async fn replaced_beside_a_writer(env: &Environment, namespace: &str) -> anyhow::Result<usize> {
    let held = Held::prepare(env, namespace).await?;
    let sets: Api<StatefulSet> = Api::namespaced(env.shared.client.clone(), namespace);
    let writing = tokio::time::timeout(PATIENCE, write(sets));
    let (asked, written) = futures::join!(held.replace(), writing);
    asked?;
    let written = written.with_context(|| format!("never replaced\n{}", held.ns.log()))??;
    let ended = eventually("the replacement to be reported", PATIENCE, async || {
        let phase = &held.ns.rollout().await?["status"]["replacement"]["phase"];
        Ok((phase == "Replaced" && journals(&held.ns).await?.is_empty()).then_some(()))
    });
    ended.await.with_context(|| held.ns.log())?;
    let set = held.ns.settled().await?;
    let notes = &set["metadata"]["annotations"];
    let lost = written
        .notes
        .iter()
        .find(|number| notes[format!("{NOTE}{number}")].is_null());
    ensure!(lost.is_none(), "annotation {lost:?} was lost: {set:#}");
    let replicas = &set["spec"]["replicas"];
    ensure!(*replicas == if written.scaled { 3 } else { 2 }, "{replicas} replicas");
    let pods = held.ns.pods().await?;
    ensure!(pods.starts_with(&held.before.pods), "Pods restarted: {pods:?}");
    Ok(written.notes.len() + usize::from(written.scaled))
}

pub(super) async fn acknowledged_writes_are_kept_by_replacements(env: &Environment) -> anyhow::Result<()> {
    let replacements: usize = std::env::var("REPLACEMENTS").map_or(Ok(6), |number| number.parse())?;
    let all = (0..replacements).map(async |number| {
        let namespace = format!("stopped-writer-{number}");
        let replaced = replaced_beside_a_writer(env, &namespace);
        replaced.await.with_context(|| format!("replacement {number}"))
    });
    let written = try_join_all(all).await?;
    println!(
        "{replacements} replacements: {} writes were acknowledged meanwhile, none is lost",
        written.iter().sum::<usize>()
    );
    Ok(())
}

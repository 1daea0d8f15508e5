//! `replace --take-back` at each single write of a replacement, with kube-controller-manager stopped and then started:
//! no Pod and no PVC is deleted.

use anyhow::{Context as _, ensure};
use futures::future::try_join_all;
use serde_json::Value;

use super::held::{Held, after_any_write, undisturbed};
use crate::cluster::commands::run;
use crate::cluster::replacing::trial::journals;
use crate::world::installation::USER;
use crate::world::{Output, World, until};

const PROGRAM: &str = "kube-controller-manager";

async fn take_back(held: &Held<'_>) -> anyhow::Result<Output> {
    run(&held.ns, &["replace", "web", "--take-back", "--as", USER], "").await
}

/// Nothing of the replacement is left, and nothing was deleted.
async fn is_over(held: &Held<'_>) -> anyhow::Result<&'static str> {
    held.before.keeps_pods_and_claims(&held.ns).await?;
    let left = journals(&held.ns).await?;
    ensure!(left.is_empty(), "a journal is left: {left:#?}");
    let set = held.set().await?;
    ensure!(set["metadata"]["finalizers"].is_null(), "{set:#}");
    ensure!(set["metadata"]["deletionTimestamp"].is_null(), "{set:#}");
    let then = &held.before.set;
    for pointer in ["/spec/replicas", "/spec/updateStrategy", "/spec/template"] {
        ensure!(set.pointer(pointer) == then.pointer(pointer), "{pointer}: {set:#}");
    }
    let is_same = set["metadata"]["uid"] == then["metadata"]["uid"];
    let owner = &held.ns.rollout().await?["metadata"]["ownerReferences"][0]["uid"];
    ensure!(*owner == set["metadata"]["uid"], "owner of the ClaimRollout: {owner}");
    Ok(if is_same { "taken back" } else { "replaced" })
}

/// Every Pod has its StatefulSet as the controller.
async fn is_adopted(held: &Held<'_>) -> anyhow::Result<bool> {
    let uid = held.set().await?["metadata"]["uid"].clone();
    let pods = held.ns.all("", "v1", "Pod").await?;
    Ok(pods
        .iter()
        .all(|pod: &Value| pod["metadata"]["ownerReferences"][0]["uid"] == uid))
}

pub(super) async fn set_taken_back_at_any_write_loses_nothing(env: &World) -> anyhow::Result<()> {
    let writes = undisturbed(env, "stopped-not-taken").await?;
    let all = after_any_write(writes, async |limit| {
        let mut held = Held::killed(env, &format!("stopped-back-{limit}"), limit).await?;
        // Others may go on while this one waits.
        held.turn = None;
        Ok(held)
    });
    let all = all.await?;
    let cluster = &env.cluster;
    cluster.halt(PROGRAM);
    let mut first = Vec::new();
    let outputs = try_join_all(all.iter().map(take_back)).await?;
    for (at, output) in outputs.iter().enumerate() {
        ensure!(matches!(output.code, Some(0 | 1)), "after write {at}: {output:?}");
        let waits = ["WaitsForGarbageCollector", "StatusOutdated", "PodNotAdopted"];
        let has = |text: &&str| output.stderr.contains(text) || output.stdout.contains(text);
        let has_reason = output.code == Some(0) || waits.iter().any(has);
        ensure!(has_reason, "after write {at}: {output:?}");
        first.push(output.code);
    }
    println!("replace --take-back without {PROGRAM} after 0, 1, 2 ... writes: {first:?}");
    cluster.resume(PROGRAM)?;
    let ends = all.iter().enumerate().map(async |(at, held)| {
        let read = async || Ok((take_back(held).await?, is_adopted(held).await?));
        let is_done = |(output, is_adopted): &(Output, bool)| output.code == Some(0) && *is_adopted;
        let over = until("the replacement to be over", read, is_done).await;
        over.with_context(|| format!("after write {at}"))?;
        is_over(held).await.with_context(|| format!("after write {at}"))
    });
    let ends = try_join_all(ends).await?;
    println!("and with it: {ends:?}");
    ensure!(ends.contains(&"taken back") && ends.contains(&"replaced"), "{ends:?}");
    Ok(())
}

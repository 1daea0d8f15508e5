//! A user deletes the StatefulSet, or its namespace, at each single write of a replacement.

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::held::{Held, after_any_write, undisturbed};
use crate::cluster::replacing::trial::{journals, start_controller};
use crate::world::{World, until};

/// What the guard answers to others while a StatefulSet is being replaced.
const DENIED: &str = "it is being replaced, try again in a moment";

/// What became of a DELETE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Deleted,
    Denied,
    /// Between the last write of the old StatefulSet and the CREATE of the new one.
    NotFound,
}

/// A DELETE with this propagation while the write after this many is held.
async fn deleted_after(env: &World, cascade: &str, writes: usize) -> anyhow::Result<Outcome> {
    let held = Held::prepare(env, &format!("stopped-{cascade}-{writes}")).await?;
    held.replace_until(writes).await?;
    let cascade = format!("--cascade={cascade}");
    let delete = ["delete", "statefulset", "web", &cascade, "--wait=false"];
    let output = held.ns.kubectl(&delete, "").await?;
    env.barriers.open(&held.ns.namespace);
    if output.success {
        stays_deleted(&held, cascade == "--cascade=orphan").await?;
        return Ok(Outcome::Deleted);
    }
    let not_found = output.stderr.contains("(NotFound)");
    ensure!(not_found || output.stderr.contains(DENIED), "{output:?}");
    ensure!(not_found || output.stderr.contains("(Forbidden)"), "{output:?}");
    held.until_replaced().await?;
    Ok(if not_found { Outcome::NotFound } else { Outcome::Denied })
}

/// The StatefulSet is deleted as the user asked, no journal is left that could create it again, and the PVCs are kept.
async fn stays_deleted(held: &Held<'_>, orphaned: bool) -> anyhow::Result<()> {
    let pods = if orphaned { held.before.pods.clone() } else { Vec::new() };
    let read = async || {
        Ok((
            held.set().await?,
            journals(&held.ns).await?.len(),
            held.ns.pods().await?,
        ))
    };
    let ended = (Value::Null, 0, pods);
    let deleted = until("it to be deleted, with its journal", read, |now| *now == ended).await;
    deleted.with_context(|| held.ns.log())?;
    held.before.keeps_claims(&held.ns).await?;
    nothing_comes_back(held).await
}

/// A new controller has nothing to finish, and creates nothing.
async fn nothing_comes_back(held: &Held<'_>) -> anyhow::Result<()> {
    let next = start_controller(held.env, &held.ns.namespace).await?;
    let set = held.set().await?;
    ensure!(
        set.is_null(),
        "it came back: {set:#}\n{}\n{}",
        held.ns.log(),
        next.log()
    );
    Ok(())
}

pub(super) async fn set_deleted_at_any_write_stays_deleted_or_is_denied(env: &World) -> anyhow::Result<()> {
    let writes = undisturbed(env, "stopped-undeleted").await?;
    let mut found = Vec::new();
    for cascade in ["background", "foreground", "orphan"] {
        let outcomes = after_any_write(writes, async |limit| deleted_after(env, cascade, limit).await);
        let outcomes = outcomes.await.context(cascade)?;
        println!("a DELETE ({cascade}) after 0, 1, 2 ... of {writes} writes: {outcomes:?}");
        found.extend(outcomes);
    }
    found.sort_unstable();
    found.dedup();
    ensure!(
        found == [Outcome::Deleted, Outcome::Denied, Outcome::NotFound],
        "{found:?}"
    );
    Ok(())
}

/// The namespace is deleted while the write after this many is held.
async fn namespace_deleted_after(env: &World, writes: usize) -> anyhow::Result<()> {
    let namespace = format!("stopped-namespace-{writes}");
    let held = Held::prepare(env, &namespace).await?;
    held.replace_until(writes).await?;
    let cluster = &env.cluster;
    cluster
        .typed(&format!("delete namespace {namespace} --wait=false"))
        .await?;
    env.barriers.open(&namespace);
    let get = format!("get namespace {namespace} --ignore-not-found -o=name");
    let read = async || Ok((cluster.typed(&get).await?.stdout, journals(&held.ns).await?.len()));
    let ended = until("it to be deleted, with the journal", read, |now| {
        *now == (String::new(), 0)
    })
    .await;
    ended.with_context(|| held.ns.log())?;
    cluster.typed(&format!("create namespace {namespace}")).await?;
    nothing_comes_back(&held).await
}

pub(super) async fn namespace_deleted_at_any_write_stays_deleted(env: &World) -> anyhow::Result<()> {
    let writes = undisturbed(env, "stopped-undisturbed").await?;
    after_any_write(writes, async |limit| namespace_deleted_after(env, limit).await)
        .await
        .map(drop)
}

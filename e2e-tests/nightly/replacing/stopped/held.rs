//! A StatefulSet whose replacement stops at a write.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use futures::future::try_join_all;
use serde_json::Value;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::cluster::replacing::kept::Before;
use crate::cluster::replacing::trial::{journals, until_replaced};
use crate::world::World;
use crate::world::installation::JOURNALS;
use crate::world::namespace::TestNamespace;
use crate::world::web::Web;

/// A younger StatefulSet is not replaced. A second more, because its time has no fractions.
const AGE: Duration = Duration::from_secs(61);
const REPLICAS: u32 = 2;

/// Hundreds of StatefulSets wait until they are old enough; so many are created or replaced at a time.
static TURNS: Semaphore = Semaphore::const_new(6);

/// A namespace whose StatefulSet could be replaced, but nobody has asked for it.
pub(super) struct Held<'a> {
    pub(super) env: &'a World,
    pub(super) ns: TestNamespace<'a>,
    pub(super) before: Before,
    /// Held until the end of the trial, or while others need not wait for it.
    pub(super) turn: Option<SemaphorePermit<'a>>,
}

impl<'a> Held<'a> {
    /// A StatefulSet with a complete rollout, old enough to be replaced.
    pub(super) async fn prepare(env: &'a World, namespace: &str) -> anyhow::Result<Self> {
        let turn = TURNS.acquire().await?;
        let mut ns = env.namespace(namespace).await?;
        ns.start_controller(env, &[JOURNALS]).await?;
        ns.target(&Web::replicas(REPLICAS)).await?;
        ns.settled().await?;
        // Its age is known to the second, and the time begins when it exists.
        let aged = tokio::time::Instant::now() + AGE;
        ns.target(&Web::replicas(REPLICAS).size("2Gi")).await?;
        ns.until_complete(REPLICAS as usize, "2Gi").await?;
        // The same field manager asks for the replacement later, so that it is there before.
        ask(&ns, "Never").await?;
        drop(turn);
        tokio::time::sleep_until(aged).await;
        let turn = TURNS.acquire().await?;
        let before = Before::of(&ns).await?;
        Ok(Self {
            env,
            ns,
            before,
            turn: Some(turn),
        })
    }

    /// A replacement whose controller was killed after this many writes. Others may write.
    pub(super) async fn killed(env: &'a World, namespace: &str, writes: usize) -> anyhow::Result<Self> {
        let mut held = Self::prepare(env, namespace).await?;
        held.replace_until(writes).await?;
        if let Some(controller) = &mut held.ns.controller {
            controller.kill()?;
        }
        env.barriers.open_for_others(namespace);
        Ok(held)
    }

    /// Asks for the replacement.
    pub(super) async fn replace(&self) -> anyhow::Result<()> {
        ask(&self.ns, "WhenComplete").await
    }

    /// Asks for the replacement, and waits until the write after this many is held, or there is none.
    pub(super) async fn replace_until(&self, writes: usize) -> anyhow::Result<()> {
        let namespace = &self.ns.namespace;
        let barriers = &self.env.barriers;
        barriers.hold_after(namespace, barriers.passed(namespace) + writes);
        self.replace().await?;
        let held_or_ended =
            |rollout: &Value| rollout["status"]["replacement"]["phase"] == "Replaced" || barriers.is_holding(namespace);
        self.ns
            .until_reported("a write to be held, or the end", held_or_ended)
            .await
            .map(drop)
    }

    /// Waits until the StatefulSet is replaced, and checks that nothing else has changed.
    pub(super) async fn until_replaced(&self) -> anyhow::Result<()> {
        until_replaced(&self.ns, &self.before.set, "2Gi").await?;
        self.before.keeps_pods_and_claims(&self.ns).await?;
        let left = journals(&self.ns).await?;
        ensure!(left.is_empty(), "a journal is left: {left:#?}");
        Ok(())
    }

    /// The StatefulSet, or null.
    pub(super) async fn set(&self) -> anyhow::Result<Value> {
        self.ns.get("statefulset/web").await
    }
}

/// Sets the annotation `replace-set`.
async fn ask(ns: &TestNamespace<'_>, value: &str) -> anyhow::Result<()> {
    let annotation = format!("claim-rollout.io/replace-set={value}");
    ns.typed(&format!("annotate --overwrite statefulset web {annotation}"))
        .await
        .map(drop)
}

/// The number of writes of an undisturbed replacement.
pub(super) async fn undisturbed(env: &World, namespace: &str) -> anyhow::Result<usize> {
    let held = Held::prepare(env, namespace).await?;
    let before = env.barriers.passed(namespace);
    held.replace().await?;
    held.until_replaced().await?;
    Ok(env.barriers.passed(namespace) - before)
}

/// Tries all numbers of writes after which a replacement can be stopped.
pub(super) async fn after_any_write<T>(
    writes: usize,
    trial: impl AsyncFn(usize) -> anyhow::Result<T>,
) -> anyhow::Result<Vec<T>> {
    let all = (0..=writes).map(async |limit| {
        let tried = trial(limit).await;
        tried.with_context(|| format!("after write {limit} of {writes}"))
    });
    try_join_all(all).await
}

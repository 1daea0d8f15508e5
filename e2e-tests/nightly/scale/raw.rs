//! The writes of a rollout without a controller.
//!
//! The loop decides nothing, checks nothing and remembers nothing. It knows the writes and their order, and waits for a
//! PVC by a watch, as the controller does.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use claim_rollout::controller::crd::ClaimRollout;
use claim_rollout::templates::Phase;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, watch};

use super::fleet::{CONCURRENCY, Fleet, Member};
use super::{PATIENCE, Writes};

/// The capacities of PVCs by namespace and name, with a notification of changes.
#[derive(Clone)]
struct Capacities {
    known: Arc<Mutex<HashMap<String, String>>>,
    changes: watch::Receiver<()>,
}

/// The client and the numbers that all StatefulSets share.
struct Bare<'a> {
    client: &'a Client,
    size: &'a str,
    /// As many concurrent calls as the controller makes.
    calls: Semaphore,
    capacities: Capacities,
    /// The number of reports for one StatefulSet.
    reports: usize,
    events: usize,
}

/// Writes this size to all PVCs, with as many other writes as the controller made. Returns how long that took.
pub(super) async fn roll(client: &Client, fleet: &Fleet, size: &str, writes: &Writes) -> anyhow::Result<Duration> {
    let (notify, changes) = watch::channel(());
    let capacities = Capacities {
        known: Arc::default(),
        changes,
    };
    let following = tokio::spawn(follow(client.clone(), Arc::clone(&capacities.known), notify));
    let sets = fleet.sets.len();
    ensure!(
        writes.changes == sets && writes.revisions == sets,
        "one of each for a set: {writes:?}"
    );
    let bare = Bare {
        client,
        size,
        calls: Semaphore::new(CONCURRENCY),
        capacities,
        // Rounded: a write cannot be divided.
        reports: (writes.reports + sets / 2) / sets,
        events: (writes.events + sets / 2) / sets,
    };
    let begun = Instant::now();
    stream::iter(&fleet.sets)
        .map(|member| bare.roll(member, fleet.replicas))
        .buffer_unordered(sets)
        .try_collect::<Vec<_>>()
        .await?;
    let took = begun.elapsed();
    following.abort();
    Ok(took)
}

async fn follow(client: Client, known: Arc<Mutex<HashMap<String, String>>>, notify: watch::Sender<()>) {
    let claims: Api<PersistentVolumeClaim> = Api::all(client);
    let mut events = std::pin::pin!(watcher(claims, watcher::Config::default()).applied_objects());
    while let Some(Ok(claim)) = events.next().await {
        let capacity = claim.status.as_ref().and_then(|status| status.capacity.as_ref());
        let capacity = capacity.and_then(|capacity| capacity.get("storage"));
        let key = format!("{}/{}", claim.namespace().unwrap_or_default(), claim.name_any());
        let value = capacity.map(|quantity| quantity.0.clone()).unwrap_or_default();
        known.lock().unwrap_or_else(PoisonError::into_inner).insert(key, value);
        notify.send_replace(());
    }
}

impl Bare<'_> {
    async fn roll(&self, member: &Member, replicas: u32) -> anyhow::Result<()> {
        let change = member.staged_change(self.size, Phase::RollingOut)?;
        let (revision, label) = (change.revision().to_string(), change.label().to_string());
        self.call(member.stage(self.client, self.size, Phase::RollingOut))
            .await?;
        self.report(member, 0).await?;
        self.revision(member, &revision).await?;
        let (mut reports, mut events) = (1, 0);
        for (done, ordinal) in (0..replicas).rev().enumerate() {
            let name = format!("data-{}-{ordinal}", member.name);
            self.apply(member, &name, &label).await?;
            // The reports of the controller, spread over the replicas.
            let share = |all: usize| all * (done + 1) / replicas as usize;
            while events < share(self.events) {
                events += 1;
                self.emit(member, &format!("{name}-{revision}-{events}")).await?;
            }
            self.until_grown(&format!("{}/{name}", member.namespace)).await?;
            while reports < share(self.reports) {
                reports += 1;
                self.report(member, reports).await?;
            }
        }
        self.call(member.stage(self.client, self.size, Phase::Complete)).await
    }

    async fn call<T>(&self, call: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
        let _permit = self.calls.acquire().await?;
        call.await
    }

    async fn apply(&self, member: &Member, name: &str, label: &str) -> anyhow::Result<()> {
        let claims: Api<PersistentVolumeClaim> = Api::namespaced(self.client.clone(), &member.namespace);
        let body = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "labels": {"claim-rollout.io/revision": label}},
            "spec": {"resources": {"requests": {"storage": self.size}}},
        });
        let params = PatchParams::apply("claim-rollout").force();
        self.call(async { Ok(claims.patch(name, &params, &Patch::Apply(&body)).await?) })
            .await?;
        Ok(())
    }

    async fn until_grown(&self, claim: &str) -> anyhow::Result<()> {
        let Capacities { known, mut changes } = self.capacities.clone();
        let grown = async {
            loop {
                let known = known.lock().unwrap_or_else(PoisonError::into_inner).get(claim).cloned();
                if known.as_deref() == Some(self.size) {
                    return Ok(());
                }
                changes.changed().await.context("the watch ended")?;
            }
        };
        tokio::time::timeout(PATIENCE, grown)
            .await
            .with_context(|| format!("waited in vain for {claim}"))?
    }

    /// The controller has created the ClaimRollout before.
    async fn report(&self, member: &Member, number: usize) -> anyhow::Result<()> {
        let rollouts: Api<ClaimRollout> = Api::namespaced(self.client.clone(), &member.namespace);
        let patch: Patch<Value> =
            Patch::Merge(json!({"status": {"observedGeneration": number, "currentRevision": self.size}}));
        let params = PatchParams::default();
        self.call(async { Ok(rollouts.patch_status(&member.name, &params, &patch).await?) })
            .await?;
        Ok(())
    }

    async fn revision(&self, member: &Member, revision: &str) -> anyhow::Result<()> {
        let revisions: Api<ControllerRevision> = Api::namespaced(self.client.clone(), &member.namespace);
        let name = format!("{}-bare-{revision}", member.name);
        let object = serde_json::from_value(json!({"metadata": {"name": name}, "revision": 1, "data": {}}))?;
        self.call(async { Ok(revisions.create(&PostParams::default(), &object).await?) })
            .await?;
        Ok(())
    }

    async fn emit(&self, member: &Member, name: &str) -> anyhow::Result<()> {
        let events: Api<Event> = Api::namespaced(self.client.clone(), &member.namespace);
        let event = serde_json::from_value(json!({
            "metadata": {"name": name, "namespace": member.namespace}, "eventTime": "2026-01-01T00:00:00.000000Z",
            "action": "RollOutClaims", "reason": "ClaimUpdated", "type": "Normal", "note": name,
            "reportingController": "claim-rollout.io/bare", "reportingInstance": "bare",
            "regarding": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": member.name,
                "namespace": member.namespace, "uid": member.uid},
        }))?;
        self.call(async { Ok(events.create(&PostParams::default(), &event).await?) })
            .await?;
        Ok(())
    }
}

//! Somebody writes to the StatefulSet all the time: no write that the API server acknowledged is lost.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use k8s_openapi::api::apps::v1::StatefulSet;
use kube::api::{Api, Patch, PatchParams};
use serde_json::json;

use super::kept::until_complete;
use super::trial::{prepare, replaced};
use crate::world::World;

/// The shortest pause between two writes.
const PAUSE: Duration = Duration::from_millis(20);

/// A pause is this many times as long as the write before it, at least. So the writer leaves others the same share of
/// the time on a slow API server, where a write takes longer than [`PAUSE`].
const PAUSES_PER_WRITE: u32 = 3;

/// Somebody who writes an annotation with a key of its own again and again, and scales the StatefulSet once while it is
/// being deleted. No write has a precondition.
pub(crate) struct Writer {
    sets: Api<StatefulSet>,
    name: String,
    scale_to: u32,
    /// The keys of the writes that the API server acknowledged.
    acknowledged: Vec<String>,
    is_scaled: bool,
}

impl Writer {
    pub(crate) fn new(sets: Api<StatefulSet>, name: &str, scale_to: u32) -> Self {
        Self {
            sets,
            name: name.to_owned(),
            scale_to,
            acknowledged: Vec::new(),
            is_scaled: false,
        }
    }

    /// Writes once.
    pub(crate) async fn write(&mut self, number: usize, scales: bool) -> bool {
        let key = format!("writer.example.com/{number}");
        let mut body = json!({"metadata": {"annotations": {(key.as_str()): ""}}});
        if scales {
            body["spec"] = json!({"replicas": self.scale_to});
        }
        let params = PatchParams {
            field_manager: Some("writer".to_owned()),
            ..PatchParams::default()
        };
        // While the StatefulSet is absent, nothing is acknowledged.
        let Ok(set) = self.sets.patch_metadata(&self.name, &params, &Patch::Merge(body)).await else {
            return false;
        };
        self.acknowledged.push(key);
        self.is_scaled |= scales;
        set.metadata.deletion_timestamp.is_some()
    }

    /// Writes until this has ended.
    pub(crate) async fn during(self, other: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<Self> {
        let stop = AtomicBool::new(false);
        let other = async {
            let ended = other.await;
            stop.store(true, Ordering::Relaxed);
            ended
        };
        let (writer, ended) = tokio::join!(self.run(&stop), other);
        ended.map(|()| writer)
    }

    async fn run(mut self, stop: &AtomicBool) -> Self {
        let mut is_deleted = false;
        for number in 1.. {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let start = Instant::now();
            is_deleted = self.write(number, is_deleted && !self.is_scaled).await;
            tokio::time::sleep(PAUSE.max(PAUSES_PER_WRITE * start.elapsed())).await;
        }
        self
    }

    /// Fails if a write that was acknowledged is not to be seen. Returns the number of writes.
    pub(crate) async fn lost_nothing(&self) -> anyhow::Result<usize> {
        let set = self.sets.get(&self.name).await?;
        let annotations = set.metadata.annotations.context("annotations")?;
        let lost: Vec<&String> = self
            .acknowledged
            .iter()
            .filter(|key| !annotations.contains_key(*key))
            .collect();
        let writes = self.acknowledged.len();
        ensure!(lost.is_empty(), "{}: lost, of {writes}: {lost:?}", self.name);
        let replicas = set.spec.and_then(|spec| spec.replicas).context("replicas")?;
        let is_kept = u32::try_from(replicas).is_ok_and(|replicas| replicas == self.scale_to);
        ensure!(!self.is_scaled || is_kept, "{}: {replicas} replicas", self.name);
        Ok(writes)
    }
}

pub(crate) async fn write_every_20_ms_is_not_lost(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "written", 2).await?;
    let sets: Api<StatefulSet> = Api::namespaced(env.client.clone(), &ns.namespace);
    let mut writer = Writer::new(sets, "web", 3);
    // Its entry in the managed fields is there before.
    writer.write(0, false).await;
    let before = ns.set().await?;
    let replace = async {
        ns.target(&replaced(2, "2Gi")).await?;
        until_complete(&ns).await
    };
    let writer = writer.during(replace).await?;
    ensure!(writer.is_scaled, "the StatefulSet was never seen as Terminating");
    let set = ns.settled().await?;
    ensure!(set["metadata"]["uid"] != before["metadata"]["uid"], "the same set");
    let writes = writer.lost_nothing().await?;
    ensure!(writes > 20, "only {writes} writes");
    Ok(())
}

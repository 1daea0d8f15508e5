//! Many equal StatefulSets, and changes of all of them.

use std::collections::{BTreeMap, HashSet};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use claim_rollout::templates::{ClaimTemplate, Phase, StagedChange, Staging, UpdatePolicy};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{Namespace, PersistentVolumeClaim};
use kube::api::{Api, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};

use super::PATIENCE;
use crate::world::eventually;
use crate::world::namespace::STAGED;

/// The number of concurrent calls. The default of the controller's `--max-concurrent` is the same.
pub(super) const CONCURRENCY: usize = 16;
/// StatefulSets in some namespaces.
pub(crate) struct Fleet {
    client: Client,
    pub(crate) sets: Vec<Member>,
    pub(super) replicas: u32,
}

/// One StatefulSet.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(super) namespace: String,
    pub(crate) name: String,
    pub(super) uid: String,
}

impl Fleet {
    /// Creates the StatefulSets in this many namespaces, and waits until every PVC is bound.
    pub(crate) async fn create(
        client: &Client,
        number: usize,
        namespaces: usize,
        replicas: u32,
    ) -> anyhow::Result<Self> {
        Self::create_in("fleet", client, number, namespaces, replicas).await
    }

    /// The same in namespaces with this prefix.
    pub(super) async fn create_in(
        prefix: &str,
        client: &Client,
        number: usize,
        namespaces: usize,
        replicas: u32,
    ) -> anyhow::Result<Self> {
        let all: &Api<Namespace> = &Api::all(client.clone());
        at_once(0..namespaces, async |index| {
            let namespace = serde_json::from_value(json!({"metadata": {"name": format!("{prefix}-{index}")}}))?;
            Ok(all.create(&PostParams::default(), &namespace).await?)
        })
        .await?;
        let sets = at_once(0..number, async |index| {
            let namespace = format!("{prefix}-{}", index % namespaces);
            let api: Api<StatefulSet> = Api::namespaced(client.clone(), &namespace);
            let set = serde_json::from_value(set(&format!("web-{index:04}"), replicas))?;
            let created = api.create(&PostParams::default(), &set).await?;
            let (name, uid) = (created.name_any(), created.uid().unwrap_or_default());
            Ok(Member { namespace, name, uid })
        })
        .await?;
        let fleet = Self {
            client: client.clone(),
            sets,
            replicas,
        };
        let claims: Api<PersistentVolumeClaim> = Api::all(client.clone());
        eventually("all claims to be bound", PATIENCE, async || {
            tokio::time::sleep(Duration::from_secs(2)).await;
            let listed = claims.list(&ListParams::default()).await?;
            let ours = |claim: &&PersistentVolumeClaim| claim.namespace().is_some_and(|its| its.starts_with(prefix));
            let bound = listed.items.iter().filter(ours).filter(|claim| is_bound(claim)).count();
            Ok((bound == fleet.claims()).then_some(()))
        })
        .await?;
        Ok(fleet)
    }

    /// The number of PVCs.
    pub(super) fn claims(&self) -> usize {
        self.sets.len() * self.replicas as usize
    }

    /// Stages this size for all StatefulSets at once, and waits until every rollout is complete. Returns how long that
    /// took.
    pub(crate) async fn roll(&self, size: &str) -> anyhow::Result<Duration> {
        let begun = Instant::now();
        self.stage(size, Phase::RollingOut).await?;
        self.until_complete(self.sets.iter().map(|member| member.uid.clone()).collect())
            .await?;
        Ok(begun.elapsed())
    }

    /// Writes the staged change of all StatefulSets.
    pub(crate) async fn stage(&self, size: &str, phase: Phase) -> anyhow::Result<()> {
        at_once(&self.sets, async |member| member.stage(&self.client, size, phase).await).await?;
        Ok(())
    }

    /// Sets an annotation of all StatefulSets, or removes it.
    pub(super) async fn annotate(&self, key: &str, value: Option<&str>) -> anyhow::Result<()> {
        at_once(&self.sets, async |member| {
            member.annotate(&self.client, key, value).await
        })
        .await?;
        Ok(())
    }

    /// What contains all StatefulSets, and those of other fleets only if there is more than one namespace: a list of
    /// them takes time, which would be a part of the rollout.
    fn watched(&self) -> Api<StatefulSet> {
        let namespaces: HashSet<&str> = self.sets.iter().map(|member| member.namespace.as_str()).collect();
        match Vec::from_iter(namespaces)[..] {
            [one] => Api::namespaced(self.client.clone(), one),
            _ => Api::all(self.client.clone()),
        }
    }

    async fn until_complete(&self, mut waiting: HashSet<String>) -> anyhow::Result<()> {
        let events = kube::runtime::watcher(self.watched(), kube::runtime::watcher::Config::default());
        let mut events = std::pin::pin!(kube::runtime::WatchStreamExt::applied_objects(events));
        let last = tokio::time::Instant::now() + PATIENCE;
        while !waiting.is_empty() {
            let event = tokio::time::timeout_at(last, events.next()).await;
            let left = || format!("waited in vain for {} sets", waiting.len());
            let set = event.with_context(left)?.context("the watch ended")??;
            let complete = set
                .annotations()
                .get(STAGED)
                .is_some_and(|change| change.contains(r#""phase":"Complete""#));
            if complete {
                waiting.remove(&set.uid().unwrap_or_default());
            }
        }
        Ok(())
    }
}

impl Member {
    /// The staged change for this size.
    pub(super) fn staged_change(&self, size: &str, phase: Phase) -> anyhow::Result<StagedChange> {
        Ok(StagedChange {
            by: "admin".to_owned(),
            manager: "scale".to_owned(),
            phase,
            replicas: 0,
            staging: Staging::read("xz245").expect("a staging"),
            templates: ClaimTemplate::list_from_value(json!([template(size)]))?,
            uid: self.uid.clone(),
            update_policy: UpdatePolicy::InPlace,
        })
    }

    /// Writes the staged change, as the policy would.
    pub(super) async fn stage(&self, client: &Client, size: &str, phase: Phase) -> anyhow::Result<()> {
        self.annotate(client, STAGED, Some(&self.staged_change(size, phase)?.write()?))
            .await
    }

    /// Sets an annotation, or removes it.
    pub(super) async fn annotate(&self, client: &Client, key: &str, value: Option<&str>) -> anyhow::Result<()> {
        let sets: Api<StatefulSet> = Api::namespaced(client.clone(), &self.namespace);
        let annotations = BTreeMap::from([(key, value)]);
        let patch = Patch::Merge(json!({"metadata": {"uid": self.uid, "annotations": annotations}}));
        sets.patch(&self.name, &PatchParams::default(), &patch).await?;
        Ok(())
    }
}

/// Makes calls, at most [`CONCURRENCY`] at the same time.
pub(super) async fn at_once<I, T>(
    items: impl IntoIterator<Item = I>,
    call: impl AsyncFn(I) -> anyhow::Result<T>,
) -> anyhow::Result<Vec<T>> {
    let calls = stream::iter(items).map(|item| call(item));
    calls.buffered(CONCURRENCY).try_collect().await
}

fn is_bound(claim: &PersistentVolumeClaim) -> bool {
    let phase = claim.status.as_ref().and_then(|status| status.phase.as_deref());
    phase == Some("Bound")
}

fn template(size: &str) -> Value {
    json!({"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}})
}

fn set(name: &str, replicas: u32) -> Value {
    let labels = json!({"app": name});
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": replicas, "serviceName": name, "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": labels}, "volumeClaimTemplates": [template("1Gi")],
            "template": {"metadata": {"labels": labels}, "spec": {
                "terminationGracePeriodSeconds": 0,
                "containers": [{"name": "main", "image": "example/main:1",
                    "volumeMounts": [{"name": "data", "mountPath": "/data"}]}],
            }},
        },
    })
}

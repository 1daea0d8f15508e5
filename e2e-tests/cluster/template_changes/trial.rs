//! A StatefulSet whose templates change, and what its Pods do meanwhile.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ListParams};
use serde_json::{Value, json};

use crate::cluster::replacing::trial::replaced;
use crate::world::installation::{Controller, JOURNALS, USER};
use crate::world::namespace::{PATIENCE, TestNamespace, text};
use crate::world::web::Web;
use crate::world::{STATEFULSET_CONTROLLER, World, eventually};

/// The manifest of a StatefulSet that is to be replaced.
pub(super) fn web(replicas: u32, management: &str) -> Web {
    replaced(replicas, "1Gi").spec(&json!({"podManagementPolicy": management}))
}

/// Starts a controller for the namespace.
pub(super) async fn start_controller(env: &World, namespace: &str) -> anyhow::Result<Controller> {
    let file = env
        .cluster
        .write(&format!("{namespace}.yaml"), "templateChanges: Allow\n")?;
    let arguments = ["--namespace", namespace, JOURNALS, "--settings", &file];
    env.controllers.start(&arguments).await
}

/// A namespace with a controller and the StatefulSet of this manifest.
pub(super) async fn prepare<'a>(env: &'a World, namespace: &str, manifest: &Web) -> anyhow::Result<TestNamespace<'a>> {
    let mut ns = env.namespace(namespace).await?;
    ns.let_controller("--clusterrole=claim-rollout-controller-evict-pods")
        .await?;
    ns.controller = Some(start_controller(env, namespace).await?);
    ns.target(manifest).await?;
    ns.settled().await?;
    Ok(ns)
}

/// Counts the Pods that are not Ready, again and again. A Pod that is being deleted is not Ready.
pub(super) struct Watcher {
    most: Arc<AtomicUsize>,
    ended: Arc<AtomicBool>,
    task: tokio::task::JoinHandle<()>,
}

impl Watcher {
    pub(super) fn start(ns: &TestNamespace<'_>, replicas: usize) -> Self {
        let (most, ended) = (Arc::<AtomicUsize>::default(), Arc::<AtomicBool>::default());
        let pods: Api<Pod> = Api::namespaced(ns.client.clone(), &ns.namespace);
        let (seen, end) = (Arc::clone(&most), Arc::clone(&ended));
        let task = tokio::spawn(async move {
            while !end.load(Ordering::Acquire) {
                if let Ok(list) = pods.list(&ListParams::default()).await {
                    let ready = list.items.iter().filter(|pod| is_ready(pod)).count();
                    seen.fetch_max(replicas.saturating_sub(ready), Ordering::AcqRel);
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        });
        Self { most, ended, task }
    }

    /// The most Pods that were away at the same time.
    pub(super) async fn end(self) -> anyhow::Result<usize> {
        self.ended.store(true, Ordering::Release);
        self.task.await?;
        Ok(self.most.load(Ordering::Acquire))
    }
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    pod.metadata.deletion_timestamp.is_none() && { conditions }
        .any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// The uids of the PVCs, by name.
pub(super) async fn claims(ns: &TestNamespace<'_>) -> anyhow::Result<BTreeMap<String, String>> {
    let claims = ns.claims().await?;
    let entry = |claim: &Value| (text(&claim["metadata"]["name"]), text(&claim["metadata"]["uid"]));
    Ok(claims.iter().map(entry).collect())
}

/// The Pods that the controller evicted, in this order.
pub(super) async fn evicted(ns: &TestNamespace<'_>) -> anyhow::Result<Vec<String>> {
    let writes = ns.writes_of(USER).await?;
    let evictions = writes
        .iter()
        .filter(|entry| entry.subresource == "eviction" && entry.succeeded());
    Ok(evictions.map(|entry| entry.name.clone()).collect())
}

/// The Pods that the StatefulSet controller deleted.
pub(super) async fn deleted(ns: &TestNamespace<'_>) -> anyhow::Result<Vec<String>> {
    let writes = ns.writes_of(STATEFULSET_CONTROLLER).await?;
    let deletes = writes
        .iter()
        .filter(|entry| entry.verb == "delete" && entry.resource == "pods" && entry.succeeded());
    Ok(deletes.map(|entry| entry.name.clone()).collect())
}

/// Waits until the set is another one with these templates.
pub(super) async fn until_replaced(ns: &TestNamespace<'_>, before: &Value, names: &[&str]) -> anyhow::Result<()> {
    let is_replaced = |set: &Value| {
        let templates = set["spec"]["volumeClaimTemplates"].as_array().into_iter().flatten();
        let found: Vec<String> = templates.map(|one| text(&one["metadata"]["name"])).collect();
        let is_new = set["metadata"]["uid"] != before["metadata"]["uid"] && found == names;
        is_new && set["metadata"]["finalizers"].is_null()
    };
    ns.until("the set to be replaced", "statefulset/web", is_replaced)
        .await
        .map(drop)
}

/// Waits until every Pod mounts these volumes and is Ready, and nothing more is reported.
pub(super) async fn until_mounted(ns: &TestNamespace<'_>, replicas: usize, volumes: &[&str]) -> anyhow::Result<()> {
    let mut last = String::new();
    let mounted = eventually("every Pod to have every volume", PATIENCE, async || {
        let pods: Api<Pod> = Api::namespaced(ns.client.clone(), &ns.namespace);
        let pods = pods.list(&ListParams::default()).await?.items;
        let has = |pod: &Pod, volume: &str| {
            let name = pod.metadata.name.as_deref().unwrap_or_default();
            let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
            let mut claims =
                volumes.filter_map(|one| Some((&one.name, &one.persistent_volume_claim.as_ref()?.claim_name)));
            claims.any(|(one, claim)| one == volume && *claim == format!("{volume}-{name}"))
        };
        let all = pods
            .iter()
            .all(|pod| is_ready(pod) && volumes.iter().all(|volume| has(pod, volume)));
        let rollout = ns.rollout().await?;
        let ready = &rollout["status"]["conditions"][0];
        last = format!("{} of {replicas} Pods; {ready:#}", pods.len());
        Ok((all && pods.len() == replicas && ready["reason"] == "NothingStaged").then_some(()))
    });
    mounted.await.with_context(|| format!("{last}\n{}", ns.log()))?;
    ns.settled().await?;
    Ok(())
}

/// The reason and the message of the condition `Ready`.
pub(super) async fn ready(ns: &TestNamespace<'_>) -> anyhow::Result<String> {
    let rollout = ns.rollout().await?;
    let ready = &rollout["status"]["conditions"][0];
    Ok(format!("{}: {}", text(&ready["reason"]), text(&ready["message"])))
}

/// Fails unless the PVCs from before are still the same, and these are new.
pub(super) async fn has_new_claims(
    ns: &TestNamespace<'_>,
    before: &BTreeMap<String, String>,
    template: &str,
    replicas: usize,
) -> anyhow::Result<()> {
    let mut now = claims(ns).await?;
    for ordinal in 0..replicas {
        let name = format!("{template}-web-{ordinal}");
        ensure!(now.remove(&name).is_some(), "{name} does not exist: {now:?}");
    }
    ensure!(now == *before, "PVCs: {now:?}, before {before:?}");
    Ok(())
}

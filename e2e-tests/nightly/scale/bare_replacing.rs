//! The calls of a replacement without a controller. The loop decides nothing and remembers nothing; it knows the calls,
//! their order, and what to wait for.

use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use axum::http::Request;
use claim_rollout::replace::{FINALIZER, LiveSet};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::apps::v1::StatefulSet;
use kube::Client;
use kube::api::{Api, WatchEvent, WatchParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};

use super::PATIENCE;
use super::fleet::{CONCURRENCY, Fleet, Member};
use crate::world::installation::{ACCOUNT, NAMESPACE};
use crate::world::{Cluster, base64};

/// For this time nothing may refer to the old StatefulSet before it is let go.
pub(super) const SETTLING: Duration = Duration::from_secs(2);
/// The annotation that asks for a replacement.
pub(super) const REPLACE_SET: &str = "claim-rollout.io/replace-set";
/// The pause between two reads of what somebody else does, as in the controller.
const POLL: Duration = Duration::from_millis(50);

/// The client of the account of the controller, and the new size.
struct Bare<'a> {
    client: Client,
    size: &'a str,
}

/// Replaces all StatefulSets, as many at the same time as the controller does. Returns how long that took.
pub(super) async fn replace(cluster: &Cluster, fleet: &Fleet, size: &str) -> anyhow::Result<Duration> {
    let kubeconfig = Kubeconfig::read_from(cluster.kubeconfig_of(NAMESPACE, ACCOUNT).await?)?;
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    let bare = Bare {
        client: Client::try_from(config)?,
        size,
    };
    let begun = Instant::now();
    // Its user asks, too.
    fleet.annotate(REPLACE_SET, Some("WhenComplete")).await?;
    stream::iter(&fleet.sets)
        .map(|member| bare.replace(member))
        .buffer_unordered(CONCURRENCY)
        .try_collect::<Vec<()>>()
        .await?;
    Ok(begun.elapsed())
}

impl Bare<'_> {
    async fn call(&self, method: &str, path: &str, body: &Value) -> anyhow::Result<Value> {
        let kind = if method == "PATCH" {
            "application/merge-patch+json"
        } else {
            "application/json"
        };
        let request = Request::builder().method(method).uri(path).header("Content-Type", kind);
        let body = if body.is_null() {
            Vec::new()
        } else {
            serde_json::to_vec(body)?
        };
        let answer = self.client.request::<Value>(request.body(body)?).await;
        answer.with_context(|| format!("{method} {path}"))
    }

    async fn get(&self, path: &str) -> anyhow::Result<Value> {
        self.call("GET", path, &Value::Null).await
    }

    /// The objects that may refer to the set.
    async fn dependents(&self, namespace: &str) -> anyhow::Result<[Value; 3]> {
        let core = format!("/api/v1/namespaces/{namespace}");
        let revisions = format!("/apis/apps/v1/namespaces/{namespace}/controllerrevisions");
        let (pods, claims) = (format!("{core}/pods"), format!("{core}/persistentvolumeclaims"));
        let (pods, claims, revisions) = tokio::try_join!(self.get(&pods), self.get(&claims), self.get(&revisions))?;
        Ok([pods, claims, revisions])
    }

    /// Waits for the DELETED event.
    async fn deleted(&self, namespace: &str, name: &str, version: &str) -> anyhow::Result<()> {
        let sets: Api<StatefulSet> = Api::namespaced(self.client.clone(), namespace);
        let only = WatchParams::default().fields(&format!("metadata.name={name}"));
        let mut events = std::pin::pin!(sets.watch_metadata(&only, version).await?);
        while let Some(event) = events.try_next().await? {
            if matches!(event, WatchEvent::Deleted(_)) {
                return Ok(());
            }
        }
        anyhow::bail!("no DELETED event")
    }

    /// Writes into the set.
    async fn patch(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        self.call("PATCH", path, body).await
    }

    async fn replace(&self, member: &Member) -> anyhow::Result<()> {
        let Member { namespace, name, uid } = member;
        let sets = format!("/apis/apps/v1/namespaces/{namespace}/statefulsets");
        let set = format!("{sets}/{name}");
        let rollout = format!("/apis/claim-rollout.io/v1alpha1/namespaces/{namespace}/claimrollouts/{name}");
        let secrets = format!("/api/v1/namespaces/{NAMESPACE}/secrets");
        let secret = format!("{secrets}/claim-rollout-journal-{name}");
        let live = self.get(&set).await?;
        let created = self.created(&live);
        let orphan = &json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Orphan",
            "preconditions": {"uid": uid}});
        self.check(member, &created, orphan).await?;

        // Prepare, mark, delete.
        let journal = |live: &Value| {
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": format!("claim-rollout-journal-{name}"),
                "labels": {"claim-rollout.io/bare": "true"}}, "data": {"journal": base64(&live.to_string())}})
        };
        self.call("POST", &secrets, &journal(&live)).await?;
        self.patch(&rollout, &json!({"metadata": {"ownerReferences": null}}))
            .await?;
        self.patch(&set, &json!({"metadata": {"finalizers": [FINALIZER]}}))
            .await?;
        self.report(&rollout, "InProgress").await?;
        self.call("DELETE", &set, orphan).await?;

        // Wait for the garbage collector, and for the caches of others.
        let is_orphaning = |live: &Value| live["metadata"]["finalizers"].to_string().contains("orphan");
        self.until(async || Ok(Some(self.get(&set).await?).filter(|live| !is_orphaning(live))))
            .await?;
        self.dependents(namespace).await?;
        tokio::time::sleep(SETTLING).await;
        self.dependents(namespace).await?;

        // Release and create.
        let mut live = self.get(&set).await?;
        self.get(&format!("/api/v1/namespaces/{namespace}")).await?;
        self.call("PUT", &secret, &journal(&live)).await?;
        let revision = live["status"]["updateRevision"].take();
        let version = live["metadata"]["resourceVersion"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        self.call("PUT", &set, &LiveSet::new(live).unmarked()).await?;
        self.deleted(namespace, name, &version).await?;
        let new = self.call("POST", &sets, &created).await?;
        self.until(async || {
            let set = self.get(&set).await?;
            let [pods, ..] = self.dependents(namespace).await?;
            let mut pods = pods["items"].as_array().into_iter().flatten();
            let owned = pods.any(|pod| pod["metadata"]["ownerReferences"][0]["uid"] == new["metadata"]["uid"]);
            Ok((owned && set["status"]["updateRevision"] == revision).then_some(()))
        })
        .await?;

        // Restore.
        let partition = json!({"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}});
        self.patch(&set, &partition).await?;
        self.patch(&set, &json!({"metadata": {"managedFields": [{}]}})).await?;
        let owner = json!([{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": name,
            "uid": new["metadata"]["uid"]}]);
        let owned = json!({"metadata": {"ownerReferences": owner},
            "spec": {"setRef": {"uid": new["metadata"]["uid"]}}});
        self.patch(&rollout, &owned).await?;
        self.call("DELETE", &secret, &Value::Null).await?;
        self.patch(&set, &json!({"metadata": {"finalizers": null}})).await?;
        self.report(&rollout, "Replaced").await
    }

    /// The calls before the first write.
    async fn check(&self, member: &Member, created: &Value, orphan: &Value) -> anyhow::Result<()> {
        let Member { namespace, name, .. } = member;
        self.dependents(namespace).await?;
        self.get(&format!("/api/v1/namespaces/{namespace}/resourcequotas"))
            .await?;
        let mut renamed = created.clone();
        renamed["metadata"]["name"] = format!("{name}-renamed").into();
        let create = format!("/apis/apps/v1/namespaces/{namespace}/statefulsets?dryRun=All");
        let delete = format!("/apis/apps/v1/namespaces/{namespace}/statefulsets/{name}");
        // With a body, the API server does not read the query.
        let mut dry = orphan.clone();
        dry["dryRun"] = json!(["All"]);
        let (deleted, conflict, other) = tokio::join!(
            self.call("DELETE", &delete, &dry),
            self.call("POST", &create, created),
            self.call("POST", &create, &renamed),
        );
        ensure!(
            deleted.is_ok() && conflict.is_err() && other.is_ok(),
            "{deleted:?} {conflict:?} {other:?}"
        );
        Ok(())
    }

    async fn report(&self, rollout: &str, phase: &str) -> anyhow::Result<()> {
        let status = json!({"status": {"replacement": {"phase": phase, "since": "2026-01-01T00:00:00Z"}}});
        self.patch(&format!("{rollout}/status"), &status).await.map(drop)
    }

    /// The set to create.
    fn created(&self, live: &Value) -> Value {
        let mut templates = live["spec"]["volumeClaimTemplates"].clone();
        templates[0]["spec"]["resources"]["requests"]["storage"] = self.size.into();
        let templates = templates.as_array().cloned().unwrap_or_default();
        LiveSet::new(live.clone()).recreated(&templates, None)
    }

    async fn until<T>(&self, read: impl AsyncFn() -> anyhow::Result<Option<T>>) -> anyhow::Result<T> {
        let last = Instant::now() + PATIENCE;
        while Instant::now() < last {
            if let Some(found) = read().await? {
                return Ok(found);
            }
            tokio::time::sleep(POLL).await;
        }
        anyhow::bail!("waited in vain")
    }
}

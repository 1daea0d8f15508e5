//! A namespace with a StatefulSet `web`, and operations on it.

use std::collections::BTreeMap;
use std::fmt::Display;

use anyhow::{Context as _, bail, ensure};
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};

use super::exceptions::Exceptions;
pub(crate) use super::fields::{STAGED, are_as_written, condition, label, staged_change, text};
pub(crate) use super::waiting::PATIENCE;
use super::web::Web;
use super::written::Written;
use crate::world::installation::Controller;
use crate::world::{Cluster, DRIVER, Driver, Entry, Output, words};

/// Group, version and kind of a name that kubectl knows.
fn resource(name: &str) -> anyhow::Result<[&'static str; 3]> {
    Ok(match name {
        "claimrollout" => ["claim-rollout.io", "v1alpha1", "ClaimRollout"],
        "event" => ["", "v1", "Event"],
        "pod" => ["", "v1", "Pod"],
        "pvc" => ["", "v1", "PersistentVolumeClaim"],
        "quota" => ["", "v1", "ResourceQuota"],
        "statefulset" => ["apps", "v1", "StatefulSet"],
        "volumesnapshot" => ["snapshot.storage.k8s.io", "v1", "VolumeSnapshot"],
        _ => bail!("no kind is known as {name}"),
    })
}

/// A namespace of the cluster.
pub(crate) struct TestNamespace<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) client: kube::Client,
    pub(crate) namespace: String,
    pub(crate) controller: Option<Controller>,
}

impl<'a> TestNamespace<'a> {
    /// Creates a namespace, without a controller.
    pub(crate) async fn new(cluster: &'a Cluster, client: &kube::Client, namespace: &str) -> anyhow::Result<Self> {
        let ns = Self {
            cluster,
            client: client.clone(),
            namespace: namespace.to_owned(),
            controller: None,
        };
        ns.typed(&format!("create namespace {namespace}")).await?;
        Ok(ns)
    }

    /// Creates a StorageClass with the name of the namespace, whose volumes have this behaviour independent of other
    /// scenarios.
    pub(crate) async fn make_class(&self, driver: &Driver, expandable: bool) -> anyhow::Result<()> {
        self.cluster.set_driver_of(&self.namespace, driver)?;
        let class = json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": self.namespace},
            "provisioner": DRIVER, "parameters": {"behaviour": self.namespace}, "allowVolumeExpansion": expandable,
        });
        self.target(&class).await.map(drop)
    }

    /// Runs kubectl in this namespace.
    pub(crate) async fn kubectl(&self, arguments: &[&str], input: &(impl Display + ?Sized)) -> anyhow::Result<Output> {
        let arguments = [arguments, &["--namespace", &self.namespace]].concat();
        self.cluster.kubectl(&arguments, &input.to_string()).await
    }

    /// Runs kubectl, which must succeed.
    pub(crate) async fn done(&self, arguments: &[&str], input: &(impl Display + ?Sized)) -> anyhow::Result<Output> {
        let output = self.kubectl(arguments, input).await?;
        ensure!(output.success, "kubectl {}: {}", arguments.join(" "), output.stderr);
        Ok(output)
    }

    /// Runs a command line of kubectl, which must succeed.
    pub(crate) async fn typed(&self, line: &str) -> anyhow::Result<Output> {
        self.done(&words(line), "").await
    }

    /// Both may change StatefulSets here, alice also PVCs.
    pub(crate) async fn give_rights_to_alice_and_bob(&self) -> anyhow::Result<()> {
        let verbs = "--verb=get,list,patch,update";
        for arguments in [
            &["create", "role", "sets", verbs, "--resource=statefulsets.apps"][..],
            &["create", "rolebinding", "bob", "--user=bob", "--role=sets"],
            &["create", "rolebinding", "alice", "--user=alice", "--clusterrole=edit"],
        ] {
            self.done(arguments, "").await?;
        }
        Ok(())
    }

    /// `kubectl apply` of the StatefulSet with another size.
    pub(crate) async fn apply(&self, replicas: u32, size: &str) -> anyhow::Result<Output> {
        self.target(&Web::replicas(replicas).size(size)).await
    }

    /// `kubectl apply` of a manifest.
    pub(crate) async fn target(&self, manifest: &(impl Display + ?Sized)) -> anyhow::Result<Output> {
        self.done(&["apply", "-f", "-"], manifest).await
    }

    /// The objects of a kind, for requests that kubectl does not send.
    pub(crate) fn api(&self, group: &str, version: &str, kind: &str) -> Api<DynamicObject> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
    }

    /// The objects of a kind, sorted by name.
    pub(crate) async fn all(&self, group: &str, version: &str, kind: &str) -> anyhow::Result<Vec<Value>> {
        let list = self.api(group, version, kind).list(&ListParams::default()).await?;
        let mut items: Vec<Value> = list.into_iter().map(serde_json::to_value).collect::<Result<_, _>>()?;
        items.sort_by_key(|item| item["metadata"]["name"].as_str().map(str::to_owned));
        Ok(items)
    }

    /// The objects of a kind as kubectl names it, sorted by name.
    pub(crate) async fn list(&self, kind: &str) -> anyhow::Result<Vec<Value>> {
        let [group, version, kind] = resource(kind)?;
        self.all(group, version, kind).await
    }

    /// An object as kubectl names it, such as `statefulset/web`, or null; `staged` is the staged change of `web`.
    pub(crate) async fn get(&self, object: &str) -> anyhow::Result<Value> {
        if object == "staged" {
            return self.staged_change().await;
        }
        let (kind, name) = object.split_once('/').context("a kind and a name")?;
        let [group, version, kind] = resource(kind)?;
        Ok(serde_json::to_value(
            self.api(group, version, kind).get_opt(name).await?,
        )?)
    }

    /// Sets the partition.
    pub(crate) async fn partition(&self, partition: u32) -> anyhow::Result<()> {
        let patch = json!({"spec": {"updateStrategy": {"rollingUpdate": {"partition": partition}}}}).to_string();
        self.typed(&format!("patch statefulset web -p '{patch}'"))
            .await
            .map(drop)
    }

    /// Waits until the ResourceQuota `storage` reports this amount in its field `hard` or `used`.
    pub(crate) async fn until_quota(&self, of: &str, amount: &str) -> anyhow::Result<()> {
        let counted = format!("--for=jsonpath={{.status.{of}.requests\\.storage}}={amount}");
        self.typed(&format!("wait --timeout=120s {counted} quota/storage"))
            .await
            .map(drop)
    }

    pub(crate) async fn set(&self) -> anyhow::Result<Value> {
        Ok(serde_json::to_value(
            self.api("apps", "v1", "StatefulSet").get("web").await?,
        )?)
    }

    /// The PVCs, sorted by name.
    pub(crate) async fn claims(&self) -> anyhow::Result<Vec<Value>> {
        self.list("pvc").await
    }

    /// The size that each PVC asks for.
    pub(crate) async fn sizes(&self) -> anyhow::Result<Vec<String>> {
        let size = |claim: &Value| text(&claim["spec"]["resources"]["requests"]["storage"]);
        Ok(self.claims().await?.iter().map(size).collect())
    }

    /// Gives the controller a right in this namespace: `--role=` or `--clusterrole=`.
    pub(crate) async fn let_controller(&self, role: &str) -> anyhow::Result<()> {
        let account = "--serviceaccount=claim-rollout:claim-rollout-controller";
        self.typed(&format!("create rolebinding controller {role} {account}"))
            .await
            .map(drop)
    }

    /// The uids of the Pods, sorted by name.
    pub(crate) async fn pods(&self) -> anyhow::Result<Vec<Value>> {
        let pods = self.list("pod").await?;
        Ok(pods.into_iter().map(|mut pod| pod["metadata"]["uid"].take()).collect())
    }

    /// Deletes these Pods, and waits until they do not exist. `kubectl delete` itself can wait for ever if the successor of
    /// a Pod exists already: seen with kubectl 1.33 and 1.35.
    pub(crate) async fn delete_pods(&self, names: &[&str]) -> anyhow::Result<()> {
        let uid = |pod: &Value| pod["metadata"]["uid"].clone();
        let mut before = self.list("pod").await?;
        before.retain(|pod| names.contains(&&*text(&pod["metadata"]["name"])));
        let before: Vec<Value> = before.iter().map(uid).collect();
        let delete = [&["delete", "pod"], names, &["--wait=false"]].concat();
        self.done(&delete, "").await?;
        let deleted = |pods: &[Value]| !pods.iter().any(|pod| before.contains(&uid(pod)));
        self.until_all("Pods to be deleted", "pod", deleted).await.map(drop)
    }

    pub(crate) async fn rollout(&self) -> anyhow::Result<Value> {
        self.get("claimrollout/web").await
    }

    /// The reasons of the Events on the StatefulSet, with their counts.
    pub(crate) async fn events(&self) -> anyhow::Result<BTreeMap<String, usize>> {
        let mut counts = BTreeMap::new();
        for event in self.all("events.k8s.io", "v1", "Event").await? {
            let ours = event["reportingController"] == "claim-rollout.io/controller";
            if ours && event["regarding"]["kind"] == "StatefulSet" {
                *counts.entry(text(&event["reason"])).or_default() += 1;
            }
        }
        Ok(counts)
    }

    /// The staged change, or null.
    pub(crate) async fn staged_change(&self) -> anyhow::Result<Value> {
        staged_change(&self.set().await?)
    }

    /// The log of the controller.
    pub(crate) fn log(&self) -> String {
        self.controller.as_ref().map(Controller::log).unwrap_or_default()
    }

    /// Notes that guarantees do not apply here.
    pub(crate) fn excepts(&self, change: impl FnOnce(&mut Exceptions)) {
        self.cluster.exceptions.change(&self.namespace, change);
    }

    /// The number of writes in this namespace so far; see [`TestNamespace::writes_since`].
    pub(crate) async fn mark(&self) -> anyhow::Result<usize> {
        Ok(self.writes().await?.len())
    }

    /// All writes in this namespace; only those after the mark count. Fails if the controller has ever broken a
    /// guarantee.
    pub(crate) async fn writes_since(&self, mark: usize) -> anyhow::Result<Written> {
        let written = Written::new(self.writes().await?, mark);
        let kept = written.keeps_every_invariant(self.cluster.exceptions.of(&self.namespace));
        kept.with_context(|| format!("in {}", self.namespace))?;
        Ok(written)
    }

    /// All writes in this namespace, in the order of their answers.
    pub(crate) async fn writes(&self) -> anyhow::Result<Vec<Entry>> {
        let mut entries = self.cluster.audit().await?;
        entries.retain(|entry| entry.namespace == self.namespace);
        Ok(entries)
    }

    /// The writes of this user in this namespace to PVCs, StatefulSets, Pods or ClaimRollouts.
    pub(crate) async fn writes_of(&self, user: &str) -> anyhow::Result<Vec<Entry>> {
        let mut entries = self.writes().await?;
        entries.retain(|entry| entry.user == user && entry.resource != "events");
        Ok(entries)
    }
}

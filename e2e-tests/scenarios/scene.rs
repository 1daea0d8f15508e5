//! A namespace with a set `web`, and what can be done with it and seen of it.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};

use super::gate::Gates;
use crate::cluster::{Cluster, Entry, Output, eventually};
use crate::installation::{Controller, Installation, USER};

/// How long anything may take on a machine that does all scenarios at once.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
/// The annotation that holds the record.
pub(crate) const STAGED: &str = "claim-rollout.io/staged";

/// What all scenarios share.
pub(super) struct Stage {
    pub(super) cluster: Cluster,
    pub(super) installation: Installation,
    pub(super) client: kube::Client,
    pub(super) gates: Gates,
}

/// A namespace of the cluster.
pub(crate) struct Scene<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) client: kube::Client,
    pub(crate) namespace: String,
    pub(crate) controller: Option<Controller>,
}

/// The manifest of a set `web`, in YAML as users write it.
pub(crate) fn manifest(replicas: u32, size: &str) -> String {
    format!(
        "apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: web
  annotations:
    claim-rollout.io/update-policy: InPlace
spec:
  replicas: {replicas}
  serviceName: web
  selector:
    matchLabels: {{app: web}}
  template:
    metadata:
      labels: {{app: web}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
      - name: main
        image: example/main:1
        volumeMounts:
        - {{name: data, mountPath: /data}}
  volumeClaimTemplates:
  - metadata: {{name: data}}
    spec:
      accessModes: [ReadWriteOnce]
      storageClassName: expandable
      resources: {{requests: {{storage: {size}}}}}
"
    )
}

/// The same without any annotation: nobody but Kubernetes has to do with it.
pub(crate) fn plain_manifest(replicas: u32, size: &str) -> String {
    manifest(replicas, size).replace("  annotations:\n    claim-rollout.io/update-policy: InPlace\n", "")
}

impl<'a> Scene<'a> {
    /// A fresh namespace, without a controller.
    pub(crate) async fn new(cluster: &'a Cluster, client: &kube::Client, namespace: &str) -> anyhow::Result<Self> {
        let scene = Self {
            cluster,
            client: client.clone(),
            namespace: namespace.to_owned(),
            controller: None,
        };
        scene.done(&["create", "namespace", namespace], "").await?;
        Ok(scene)
    }

    /// A fresh namespace with a controller, and in it a set of so many replicas of 1Gi, all Ready.
    pub(super) async fn with_set(stage: &'a Stage, namespace: &str, replicas: u32) -> anyhow::Result<Self> {
        let mut scene = Self::new(&stage.cluster, &stage.client, namespace).await?;
        scene.controller = Some(stage.installation.start_controller(&["--namespace", namespace]).await?);
        scene.done(&["apply", "-f", "-"], &manifest(replicas, "1Gi")).await?;
        scene.until_ready(replicas).await?;
        Ok(scene)
    }

    /// kubectl in this namespace.
    pub(crate) async fn kubectl(&self, arguments: &[&str], input: &str) -> anyhow::Result<Output> {
        let arguments = [arguments, &["--namespace", &self.namespace]].concat();
        self.cluster.kubectl(&arguments, input).await
    }

    /// kubectl, which must succeed.
    pub(crate) async fn done(&self, arguments: &[&str], input: &str) -> anyhow::Result<Output> {
        let output = self.kubectl(arguments, input).await?;
        ensure!(output.success, "kubectl {}: {}", arguments.join(" "), output.stderr);
        Ok(output)
    }

    /// Both may change sets here, alice claims as well.
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

    /// `kubectl apply` of the set with another size.
    pub(crate) async fn apply(&self, replicas: u32, size: &str) -> anyhow::Result<Output> {
        self.done(&["apply", "-f", "-"], &manifest(replicas, size)).await
    }

    fn api(&self, group: &str, version: &str, kind: &str) -> Api<DynamicObject> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
    }

    async fn all(&self, group: &str, version: &str, kind: &str) -> anyhow::Result<Vec<Value>> {
        let list = self.api(group, version, kind).list(&ListParams::default()).await?;
        let mut items: Vec<Value> = list.into_iter().map(serde_json::to_value).collect::<Result<_, _>>()?;
        items.sort_by_key(|item| item["metadata"]["name"].as_str().map(str::to_owned));
        Ok(items)
    }

    pub(crate) async fn set(&self) -> anyhow::Result<Value> {
        Ok(serde_json::to_value(
            self.api("apps", "v1", "StatefulSet").get("web").await?,
        )?)
    }

    /// In the order of their names.
    pub(crate) async fn claims(&self) -> anyhow::Result<Vec<Value>> {
        self.all("", "v1", "PersistentVolumeClaim").await
    }

    /// The uids of the Pods, in the order of their names.
    pub(crate) async fn pods(&self) -> anyhow::Result<Vec<Value>> {
        let pods = self.all("", "v1", "Pod").await?;
        Ok(pods.into_iter().map(|mut pod| pod["metadata"]["uid"].take()).collect())
    }

    pub(crate) async fn rollout(&self) -> anyhow::Result<Value> {
        let found = self
            .api("claim-rollout.io", "v1alpha1", "ClaimRollout")
            .get_opt("web")
            .await?;
        Ok(serde_json::to_value(found)?)
    }

    /// Reasons of the Events that regard the set, with how often each was said.
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

    /// The record, or null.
    pub(crate) async fn record(&self) -> anyhow::Result<Value> {
        record(&self.set().await?)
    }

    pub(crate) async fn until_ready(&self, replicas: u32) -> anyhow::Result<()> {
        let mut last = Value::Null;
        let what = format!("{replicas} Pods of {}", self.namespace);
        let ready = eventually(&what, PATIENCE, async || {
            last = self.set().await?["status"].clone();
            Ok((last["readyReplicas"] == replicas).then_some(()))
        });
        ready.await.with_context(|| format!("the last status was {last}"))
    }

    /// Waits until the StatefulSet controller has nothing to do with the set any more, and returns it.
    pub(crate) async fn settled(&self) -> anyhow::Result<Value> {
        let mut last = Value::Null;
        let what = format!("the set of {} to settle", self.namespace);
        let settled = eventually(&what, PATIENCE, async || {
            let set = self.set().await?;
            let (spec, status) = (&set["spec"], &set["status"]);
            let count = |key: &str| status[key].as_u64().unwrap_or_default();
            let replicas = spec["replicas"].as_u64().unwrap_or_default();
            let all = ["replicas", "readyReplicas", "availableReplicas"].map(count) == [replicas; 3];
            let waits = spec["updateStrategy"]["rollingUpdate"]["partition"].as_u64() > Some(0);
            let updated = waits || status["currentRevision"] == status["updateRevision"];
            let seen = status["observedGeneration"] == set["metadata"]["generation"];
            last = status.clone();
            Ok((all && updated && seen).then_some(set))
        });
        settled.await.with_context(|| format!("the last status was {last}"))
    }

    /// Waits until the controller says that all claims have this size, and checks that they have.
    pub(crate) async fn until_complete(&self, replicas: usize, size: &str) -> anyhow::Result<()> {
        let mut seen = Value::Null;
        let what = format!("{} to be complete", self.namespace);
        let waited = eventually(&what, PATIENCE, async || {
            let record = self.record().await?;
            let wanted = &record["templates"][0]["spec"]["resources"]["requests"]["storage"];
            let rollout = self.rollout().await?;
            seen = json!({"record": record, "status": rollout["status"]});
            let complete = record["phase"] == "Complete" && wanted == size;
            let reported = condition(&rollout, "Ready") == "True" && rollout["status"]["readyReplicas"] == replicas;
            Ok((complete && reported && rollout["spec"]["revision"] == record["revision"]).then_some(record))
        });
        let record = match waited.await {
            Ok(record) => record,
            Err(error) => bail!("{error:#}; the last was {seen:#}\n{}", self.log()),
        };
        let claims = self.claims().await?;
        ensure!(claims.len() == replicas, "{} claims", claims.len());
        for claim in claims {
            let label = &claim["metadata"]["labels"]["claim-rollout.io/revision"];
            let as_wished = claim["status"]["capacity"]["storage"] == size && *label == record["revision"];
            ensure!(
                as_wished,
                "expected {size} at {}, but found {claim:#}",
                record["revision"]
            );
        }
        Ok(())
    }

    /// What the controller logged.
    pub(crate) fn log(&self) -> String {
        self.controller.as_ref().map(Controller::log).unwrap_or_default()
    }

    /// What was asked of the API server in this namespace by this user and concerns claims, sets, Pods or ClaimRollouts.
    pub(crate) async fn writes_of(&self, user: &str) -> anyhow::Result<Vec<Entry>> {
        let mut entries = self.cluster.audit().await?;
        entries.retain(|entry| entry.namespace == self.namespace && entry.user == user);
        Ok(entries)
    }

    /// The names of the claims that the controller wrote, in this order. Fails if it wrote anything else but records and
    /// ClaimRollouts, wrote more records than `records`, or was ever refused.
    pub(crate) async fn claim_writes(&self, records: usize) -> anyhow::Result<Vec<String>> {
        let mut claims = Vec::new();
        let mut sets = 0;
        let writes = self.writes_of(USER).await?;
        for entry in &writes {
            match (entry.resource.as_str(), entry.subresource.as_str(), entry.verb.as_str()) {
                ("persistentvolumeclaims", "", "patch") if entry.succeeded() => claims.push(entry.name.clone()),
                ("statefulsets", "", "patch") if entry.succeeded() => sets += 1,
                // Of a write that lost a race nothing is stored.
                ("persistentvolumeclaims" | "statefulsets", "", "patch") if entry.code == 409 => {}
                ("claimrollouts", _, "patch") if entry.succeeded() => {}
                _ => bail!("unexpected: {entry:?}"),
            }
        }
        ensure!(
            sets == records,
            "expected {records} writes of the record, but found {writes:#?}"
        );
        Ok(claims)
    }
}

/// The record of a set, or null.
pub(crate) fn record(set: &Value) -> anyhow::Result<Value> {
    match set["metadata"]["annotations"][STAGED].as_str() {
        Some(text) => Ok(serde_json::from_str(text)?),
        None => Ok(Value::Null),
    }
}

/// The status of a condition.
pub(crate) fn condition(rollout: &Value, type_: &str) -> String {
    let conditions = rollout["status"]["conditions"].as_array();
    let found = conditions.and_then(|all| all.iter().find(|condition| condition["type"] == type_));
    found.map(|condition| text(&condition["status"])).unwrap_or_default()
}

/// A JSON string as text.
pub(crate) fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

//! The object `web` of an operator, its StatefulSet, and the writes of the operator.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::known::Known;
use super::written::{self, QUIET, in_numbers, of_sets};
use crate::world::installation::JOURNALS;
use crate::world::namespace::{PATIENCE, TestNamespace, text};
use crate::world::{Entry, World, eventually, until};

/// An operator that has written nothing for this long has created everything.
const CREATED: Duration = Duration::from_secs(5);

/// A namespace with an object `web` of an operator.
pub(super) struct Owned<'a> {
    pub(super) ns: TestNamespace<'a>,
    pub(super) known: &'static Known,
    annotations: Value,
}

impl<'a> Owned<'a> {
    /// Creates a namespace with an object of 1Gi, all Pods Ready, and a controller with these settings.
    pub(super) async fn new(
        env: &'a World,
        known: &'static Known,
        namespace: &str,
        settings: &Value,
        annotations: Value,
    ) -> anyhow::Result<Self> {
        let mut ns = env.namespace(namespace).await?;
        let file = env.cluster.write(&format!("{namespace}.json"), &settings.to_string())?;
        ns.start_controller(env, &[JOURNALS, "--settings", &file]).await?;
        let owned = Self { ns, known, annotations };
        owned.resize("1Gi").await?;
        owned.until_ready().await?;
        Ok(owned)
    }

    /// The same under settings that leave StatefulSets of owners alone, as by default.
    pub(super) async fn skipped(env: &'a World, known: &'static Known, namespace: &str) -> anyhow::Result<Self> {
        let settings = json!({"defaultUpdatePolicy": "InPlace"});
        Self::new(env, known, namespace, &settings, json!({})).await
    }

    /// The same under settings that name the operator, with these annotations.
    pub(super) async fn named(
        env: &'a World,
        known: &'static Known,
        namespace: &str,
        annotations: Value,
    ) -> anyhow::Result<Self> {
        Self::new(env, known, namespace, &settings(known, &json!({})), annotations).await
    }

    /// Lets the operator patch PVCs in this namespace.
    pub(super) async fn allow_patches(&self) -> anyhow::Result<()> {
        let role = [
            "create",
            "role",
            "pvcs",
            "--verb=patch",
            "--resource=persistentvolumeclaims",
        ];
        self.ns.done(&role, "").await?;
        let account = self.known.subject();
        self.ns
            .done(&["create", "rolebinding", "pvcs", "--role=pvcs", &account], "")
            .await?;
        Ok(())
    }

    /// Applies the object with this size.
    pub(super) async fn resize(&self, size: &str) -> anyhow::Result<()> {
        let Known {
            group,
            version,
            kind,
            spec,
            ..
        } = self.known;
        let object = json!({
            "apiVersion": format!("{group}/{version}"), "kind": kind,
            "metadata": {"name": "web", "annotations": self.annotations},
            "spec": spec(size),
        });
        self.ns.target(&object).await.map(drop)
    }

    /// Changes a label of the object, so that the operator reconciles it.
    pub(super) async fn touch(&self) -> anyhow::Result<()> {
        let arguments = ["label", self.known.resource, "web", "team=blue"];
        self.ns.done(&arguments, "").await.map(drop)
    }

    /// The object of the operator.
    pub(super) async fn object(&self) -> anyhow::Result<Value> {
        let Known {
            group, version, kind, ..
        } = self.known;
        let objects = self.ns.all(group, version, kind).await?;
        Ok(objects.into_iter().next().unwrap_or_default())
    }

    /// The StatefulSet, or null.
    pub(super) async fn set(&self) -> anyhow::Result<Value> {
        let sets = self.ns.all("apps", "v1", "StatefulSet").await?;
        Ok(self.of_name(sets).unwrap_or_default())
    }

    /// The ClaimRollout, or null.
    pub(super) async fn rollout(&self) -> anyhow::Result<Value> {
        let rollouts = self.ns.all("claim-rollout.io", "v1alpha1", "ClaimRollout").await?;
        Ok(self.of_name(rollouts).unwrap_or_default())
    }

    /// The object with the name of the StatefulSet.
    fn of_name(&self, objects: Vec<Value>) -> Option<Value> {
        let mut objects = objects.into_iter();
        objects.find(|object| object["metadata"]["name"] == self.known.set)
    }

    /// The objects of the replicas: their names contain the name of the StatefulSet, and the ordinal.
    fn of_replicas(&self, objects: Vec<Value>) -> Vec<Value> {
        let part = format!("{}-", self.known.set);
        let is_ours = |object: &Value| text(&object["metadata"]["name"]).contains(&part);
        objects.into_iter().filter(is_ours).collect()
    }

    /// The PVCs.
    pub(super) async fn claims(&self) -> anyhow::Result<Vec<Value>> {
        Ok(self.of_replicas(self.ns.claims().await?))
    }

    /// The uids of the Pods.
    pub(super) async fn pods(&self) -> anyhow::Result<Vec<Value>> {
        let pods = self.of_replicas(self.ns.all("", "v1", "Pod").await?);
        Ok(pods.into_iter().map(|mut pod| pod["metadata"]["uid"].take()).collect())
    }

    /// Whether all PVCs ask for this size and have this capacity.
    async fn are_of_size(&self, size: &str) -> anyhow::Result<bool> {
        let claims = self.claims().await?;
        let is_such = |claim: &Value| {
            claim["spec"]["resources"]["requests"]["storage"] == size && claim["status"]["capacity"]["storage"] == size
        };
        Ok(claims.len() == self.known.replicas && claims.iter().all(is_such))
    }

    /// Fails if a PVC has another size.
    pub(super) async fn has_sizes(&self, size: &str) -> anyhow::Result<()> {
        let all = self.are_of_size(size).await?;
        ensure!(all, "not all PVCs are of {size}: {:#?}", self.claims().await?);
        Ok(())
    }

    /// Waits until all PVCs have this size.
    pub(super) async fn until_sizes(&self, size: &str) -> anyhow::Result<()> {
        let what = format!("the PVCs of {} to be of {size}", self.ns.namespace);
        until(&what, async || self.are_of_size(size).await, |are| *are)
            .await
            .map(drop)
    }

    /// Waits for another StatefulSet than this, and until nothing is left to do.
    pub(super) async fn until_created_anew(&self, before: &Before) -> anyhow::Result<Value> {
        let is_another = |now: &Value| !now.is_null() && now["metadata"]["uid"] != before.set["metadata"]["uid"];
        until("another StatefulSet", async || self.set().await, is_another).await?;
        self.until_ready().await
    }

    /// Waits until the StatefulSet controller and the operator have nothing left to do, and returns the StatefulSet.
    pub(super) async fn until_ready(&self) -> anyhow::Result<Value> {
        let replicas = self.known.replicas;
        let what = format!("the Pods of {}", self.ns.namespace);
        let ready = eventually(&what, PATIENCE, async || {
            let set = self.set().await?;
            let status = &set["status"];
            let current = status["observedGeneration"] == set["metadata"]["generation"];
            let all = status["readyReplicas"] == replicas && status["updatedReplicas"] == replicas;
            let stays = set["metadata"]["deletionTimestamp"].is_null();
            let ready = current && all && stays;
            if ready && self.commands_wait(&set) {
                self.run_commands().await?;
                return Ok(None);
            }
            let is_done = ready && (self.known.is_done)(&self.object().await?);
            Ok(is_done.then_some(set))
        });
        ready.await
    }

    /// Whether the operator wants to run a command in a Pod.
    fn commands_wait(&self, set: &Value) -> bool {
        let annotations = &set["metadata"]["annotations"];
        self.known
            .command
            .is_some_and(|command| !annotations[command].is_null())
    }

    /// No container runs. So this does what the operator does after its command: it removes the annotation.
    async fn run_commands(&self) -> anyhow::Result<()> {
        let annotation = format!("{}-", self.known.command.unwrap_or_default());
        let arguments = ["annotate", "statefulset", self.known.set, &annotation];
        self.ns.done(&arguments, "").await.map(drop)
    }

    /// Waits until the rollout is reported to be complete and the PVCs have this size.
    pub(super) async fn until_complete(&self, size: &str) -> anyhow::Result<()> {
        let read = async || Ok((self.rollout().await?, self.are_of_size(size).await?));
        let is_complete = |(rollout, are_of_size): &(Value, bool)| {
            *are_of_size && rollout["status"]["conditions"][0]["status"] == "True"
        };
        let complete = until("the rollout to be complete", read, is_complete).await;
        complete.with_context(|| self.ns.log()).map(drop)
    }

    /// Waits until the operator has created everything, and returns what is there.
    pub(super) async fn before(&self) -> anyhow::Result<Before> {
        self.until_ready().await?;
        // Both operators update a StatefulSet once more after they have created it, on a slow machine much later.
        let written = async || written::writes(self.ns.cluster, self.known).await;
        let is_updated = |all: &Vec<Entry>| {
            let mut here = all.iter().filter(|entry| entry.namespace == self.ns.namespace).rev();
            let last = here.find(|entry| entry.resource == "statefulsets" && entry.code < 300);
            last.is_some_and(|entry| entry.verb == "update")
        };
        until("the operator to update what it has created", written, is_updated).await?;
        let writes = self.until_rest(CREATED).await?;
        Ok(Before {
            set: self.set().await?,
            pods: self.pods().await?,
            writes: writes.len(),
        })
    }

    /// Waits until the operator has written its StatefulSet and is at rest, and returns its writes since then, which are
    /// printed.
    pub(super) async fn writes_since(&self, before: &Before) -> anyhow::Result<Vec<Entry>> {
        let namespace = self.ns.namespace.as_str();
        let written = async || written::writes(self.ns.cluster, self.known).await;
        let has_begun = |all: &Vec<Entry>| {
            let here = all.iter().filter(|entry| entry.namespace == namespace);
            here.skip(before.writes).any(|entry| entry.resource == "statefulsets")
        };
        until("the operator to write its StatefulSet", written, has_begun).await?;
        let mut writes = self.until_rest(QUIET).await?;
        writes.drain(..before.writes);
        println!(
            "{}: {}, then none in {} s; StatefulSet: {:?}",
            self.ns.namespace,
            in_numbers(&writes),
            QUIET.as_secs(),
            of_sets(&writes)
        );
        Ok(writes)
    }

    async fn until_rest(&self, quiet: Duration) -> anyhow::Result<Vec<Entry>> {
        let namespace = self.ns.namespace.as_str();
        written::until_rest(self.ns.cluster, self.known, quiet, |entry| entry.namespace == namespace).await
    }
}

/// What is there before a change.
pub(super) struct Before {
    pub(super) set: Value,
    /// The uids.
    pub(super) pods: Vec<Value>,
    /// The number of writes of the operator in the namespace.
    writes: usize,
}

impl Before {
    /// Fails if a Pod or the StatefulSet is another one, or the live size has changed.
    pub(super) async fn is_left(&self, web: &Owned<'_>) -> anyhow::Result<()> {
        self.keeps_pods(web).await?;
        let now = web.set().await?;
        ensure!(
            now["metadata"]["uid"] == self.set["metadata"]["uid"],
            "another StatefulSet"
        );
        ensure!(live(&now) == live(&self.set), "{}", live(&now));
        Ok(())
    }

    /// Fails if the StatefulSet is not another one with this size that is otherwise the same, or a Pod is another one.
    pub(super) async fn is_replaced(&self, web: &Owned<'_>, size: &str) -> anyhow::Result<()> {
        self.keeps_pods(web).await?;
        let now = web.set().await?;
        ensure!(
            now["metadata"]["uid"] != self.set["metadata"]["uid"],
            "the same StatefulSet"
        );
        ensure!(live(&now) == size, "{}", live(&now));
        for key in ["replicas", "template", "updateStrategy"] {
            ensure!(now["spec"][key] == self.set["spec"][key], "{key}: {}", now["spec"][key]);
        }
        web.has_sizes(size).await
    }

    /// Fails if a Pod is the same one.
    pub(super) async fn has_no_pod(&self, web: &Owned<'_>) -> anyhow::Result<()> {
        let now = web.pods().await?;
        ensure!(
            now.len() == self.pods.len() && self.pods.iter().all(|pod| !now.contains(pod)),
            "Pods: {now:?}, before {:?}",
            self.pods
        );
        Ok(())
    }

    /// Fails if a Pod is another one.
    pub(super) async fn keeps_pods(&self, web: &Owned<'_>) -> anyhow::Result<()> {
        let now = web.pods().await?;
        ensure!(now == self.pods, "Pods: {now:?}, before {:?}", self.pods);
        Ok(())
    }
}

/// The live size.
pub(super) fn live(set: &Value) -> &Value {
    &set["spec"]["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]["storage"]
}

/// The settings with the owner, as the policy and the controllers have them.
pub(super) fn settings(known: &Known, further: &Value) -> Value {
    let mut settings = json!({"defaultUpdatePolicy": "InPlace", "stageOwnedBy": [known.owner()]});
    for (key, value) in further.as_object().into_iter().flatten() {
        settings[key] = value.clone();
    }
    settings
}

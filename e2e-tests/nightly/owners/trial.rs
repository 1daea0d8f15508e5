//! The object `web` of an operator, its StatefulSet, and the writes of the operator.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::known::Known;
use super::written::{self, QUIET, in_numbers, of_sets};
use crate::world::installation::JOURNALS;
use crate::world::namespace::{TestNamespace, condition, text};
use crate::world::waits::is_observed;
use crate::world::{Entry, World, until};

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
        let role = "create role pvcs --verb=patch --resource=persistentvolumeclaims";
        self.ns.typed(role).await?;
        let account = self.known.subject();
        self.ns
            .typed(&format!("create rolebinding pvcs --role=pvcs {account}"))
            .await
            .map(drop)
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
        let line = format!("label {} web team=blue", self.known.resource);
        self.ns.typed(&line).await.map(drop)
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
        self.ns.get(&format!("statefulset/{}", self.known.set)).await
    }

    /// The ClaimRollout, or null.
    pub(super) async fn rollout(&self) -> anyhow::Result<Value> {
        self.ns.get(&format!("claimrollout/{}", self.known.set)).await
    }

    /// Waits until the StatefulSet matches, and returns it.
    pub(super) async fn until_set(&self, what: &str, matches: impl Fn(&Value) -> bool) -> anyhow::Result<Value> {
        let name = format!("statefulset/{}", self.known.set);
        self.ns.until(what, &name, matches).await
    }

    /// Waits until the ClaimRollout matches.
    pub(super) async fn until_reported(&self, what: &str, matches: impl Fn(&Value) -> bool) -> anyhow::Result<()> {
        let name = format!("claimrollout/{}", self.known.set);
        self.ns.until(what, &name, matches).await.map(drop)
    }

    /// Whether an object belongs to a replica: its name contains the name of the StatefulSet, and the ordinal.
    fn is_of_replica(&self, object: &Value) -> bool {
        text(&object["metadata"]["name"]).contains(&format!("{}-", self.known.set))
    }

    /// The PVCs.
    pub(super) async fn claims(&self) -> anyhow::Result<Vec<Value>> {
        let mut claims = self.ns.claims().await?;
        claims.retain(|claim| self.is_of_replica(claim));
        Ok(claims)
    }

    /// The uids of the Pods.
    pub(super) async fn pods(&self) -> anyhow::Result<Vec<Value>> {
        let mut pods = self.ns.list("pod").await?;
        pods.retain(|pod| self.is_of_replica(pod));
        Ok(pods.into_iter().map(|mut pod| pod["metadata"]["uid"].take()).collect())
    }

    /// Waits until all PVCs ask for this size and have it.
    pub(super) async fn until_sizes(&self, size: &str) -> anyhow::Result<()> {
        let are_such = |claims: &[Value]| {
            let ours = claims.iter().filter(|claim| self.is_of_replica(claim));
            let such = ours.filter(|claim| has_size(claim, size));
            such.count() == self.known.replicas
        };
        let what = format!("the PVCs to be of {size}");
        self.ns.until_all(&what, "pvc", are_such).await.map(drop)
    }

    /// Fails if a PVC has another size.
    pub(super) async fn has_sizes(&self, size: &str) -> anyhow::Result<()> {
        let claims = self.claims().await?;
        ensure!(
            claims.iter().all(|claim| has_size(claim, size)),
            "not {size}: {claims:#?}"
        );
        Ok(())
    }

    /// Waits for another StatefulSet than this, and until nothing is left to do.
    pub(super) async fn until_created_anew(&self, before: &Before) -> anyhow::Result<Value> {
        let is_another = |now: &Value| !now.is_null() && now["metadata"]["uid"] != before.set["metadata"]["uid"];
        self.until_set("another StatefulSet", is_another).await?;
        self.until_ready().await
    }

    /// Waits until the StatefulSet controller and the operator have nothing left to do, and returns the StatefulSet. No
    /// container runs. So this does what the operator does after a command in a Pod: it removes the annotation.
    pub(super) async fn until_ready(&self) -> anyhow::Result<Value> {
        let annotation = self.known.command.unwrap_or_default();
        let waits = |set: &Value| !set["metadata"]["annotations"][annotation].is_null();
        let is_ready = |set: &Value| {
            let counts = ["readyReplicas", "updatedReplicas"].map(|key| set["status"][key] == self.known.replicas);
            is_observed(set) && counts == [true; 2] && set["metadata"]["deletionTimestamp"].is_null()
        };
        let read = async || {
            let set = self.set().await?;
            if is_ready(&set) && waits(&set) {
                let line = format!("annotate statefulset {} {annotation}-", self.known.set);
                self.ns.typed(&line).await?;
            }
            Ok((set, self.object().await?))
        };
        let is_done = |(set, object): &(Value, Value)| is_ready(set) && !waits(set) && (self.known.is_done)(object);
        let done = until("the Pods and the operator", read, is_done).await;
        done.with_context(|| self.ns.namespace.clone()).map(|(set, _)| set)
    }

    /// Waits until the PVCs have this size and the rollout is reported to be complete.
    pub(super) async fn until_complete(&self, size: &str) -> anyhow::Result<()> {
        self.until_sizes(size).await?;
        self.until_reported("Ready", |rollout| condition(rollout, "Ready") == "True")
            .await
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

/// Whether a PVC asks for this size and has it.
fn has_size(claim: &Value, size: &str) -> bool {
    claim["spec"]["resources"]["requests"]["storage"] == size && claim["status"]["capacity"]["storage"] == size
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

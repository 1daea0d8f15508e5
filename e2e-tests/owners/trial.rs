//! A Prometheus with two replicas, its StatefulSet, and the writes of the operator.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::OWNER;
use super::operator::USER as OPERATOR;
use crate::cluster::{Cluster, EXPANDABLE, Entry, eventually};
use crate::environment::Environment;
use crate::installation::JOURNALS;
use crate::scenarios::namespace::{PATIENCE, TestNamespace};

/// An operator that has written nothing for this long after a change does not write again and again.
pub(super) const QUIET: Duration = Duration::from_secs(30);
/// An operator that has written nothing for this long has created everything.
const CREATED: Duration = Duration::from_secs(5);
/// The number of replicas.
const REPLICAS: usize = 2;

/// A namespace with a Prometheus `web`.
pub(super) struct Monitored<'a> {
    pub(super) ns: TestNamespace<'a>,
    annotations: Value,
}

impl<'a> Monitored<'a> {
    /// Creates a namespace with a Prometheus of 1Gi, all Pods Ready, and a controller with these settings.
    pub(super) async fn new(
        env: &'a Environment,
        namespace: &str,
        settings: &Value,
        annotations: Value,
    ) -> anyhow::Result<Self> {
        let mut ns = TestNamespace::new(&env.cluster, &env.client, namespace).await?;
        let file = env.cluster.write(&format!("{namespace}.json"), &settings.to_string())?;
        let arguments = ["--namespace", namespace, JOURNALS, "--settings", &file];
        ns.controller = Some(env.installation.start_controller(&arguments).await?);
        let monitored = Self { ns, annotations };
        monitored.resize("1Gi").await?;
        monitored.until_ready().await?;
        Ok(monitored)
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
        let account = "--serviceaccount=monitoring:prometheus-operator";
        self.ns
            .done(&["create", "rolebinding", "pvcs", "--role=pvcs", account], "")
            .await?;
        Ok(())
    }

    /// Applies the Prometheus with this size.
    pub(super) async fn resize(&self, size: &str) -> anyhow::Result<()> {
        let prometheus = json!({
            "apiVersion": "monitoring.coreos.com/v1", "kind": "Prometheus",
            "metadata": {"name": "web", "annotations": self.annotations},
            "spec": {
                "replicas": REPLICAS,
                "serviceMonitorSelector": {},
                "storage": {"volumeClaimTemplate": {"spec": {
                    "storageClassName": EXPANDABLE, "resources": {"requests": {"storage": size}},
                }}},
            },
        });
        self.ns.target(&prometheus.to_string()).await.map(drop)
    }

    /// The StatefulSet, or null.
    pub(super) async fn set(&self) -> anyhow::Result<Value> {
        let sets = self.ns.all("apps", "v1", "StatefulSet").await?;
        Ok(sets.into_iter().next().unwrap_or_default())
    }

    /// The ClaimRollout, or null.
    pub(super) async fn rollout(&self) -> anyhow::Result<Value> {
        let rollouts = self.ns.all("claim-rollout.io", "v1alpha1", "ClaimRollout").await?;
        Ok(rollouts.into_iter().next().unwrap_or_default())
    }

    /// The capacities of the PVCs.
    pub(super) async fn sizes(&self) -> anyhow::Result<Vec<Value>> {
        let claims = self.ns.claims().await?;
        Ok(claims
            .into_iter()
            .map(|mut claim| claim["status"]["capacity"]["storage"].take())
            .collect())
    }

    /// Waits until the StatefulSet controller has nothing left to do, and returns the StatefulSet.
    pub(super) async fn until_ready(&self) -> anyhow::Result<Value> {
        let what = format!("the Pods of {}", self.ns.namespace);
        let ready = eventually(&what, PATIENCE, async || {
            let set = self.set().await?;
            let status = &set["status"];
            let current = status["observedGeneration"] == set["metadata"]["generation"];
            let all = status["readyReplicas"] == REPLICAS && status["updatedReplicas"] == REPLICAS;
            let stays = set["metadata"]["deletionTimestamp"].is_null();
            Ok((current && all && stays).then_some(set))
        });
        ready.await
    }

    /// Waits until the rollout is reported to be complete and the PVCs have this size.
    pub(super) async fn until_complete(&self, size: &str) -> anyhow::Result<()> {
        let mut last = Value::Null;
        let complete = eventually("the rollout to be complete", PATIENCE, async || {
            last = self.rollout().await?;
            let condition = &last["status"]["conditions"][0];
            let sizes = self.sizes().await?;
            Ok((condition["status"] == "True" && sizes == [size; REPLICAS]).then_some(()))
        });
        complete
            .await
            .with_context(|| format!("{:#}\n{}", last["status"], self.ns.log()))
    }

    /// Waits until the operator has created everything, and returns what is there.
    pub(super) async fn before(&self) -> anyhow::Result<Before> {
        let writes = self.at_rest(CREATED).await?;
        Ok(Before {
            set: self.set().await?,
            pods: self.ns.pods().await?,
            writes: writes.len(),
        })
    }

    /// Waits until the operator is at rest, and returns its writes since then, which are printed.
    pub(super) async fn writes_since(&self, before: &Before) -> anyhow::Result<Vec<Entry>> {
        let mut writes = self.at_rest(QUIET).await?;
        writes.drain(..before.writes);
        println!(
            "{}: {}, then none in {} s; StatefulSet: {:?}",
            self.ns.namespace,
            kinds(&writes),
            QUIET.as_secs(),
            of_sets(&writes)
        );
        Ok(writes)
    }

    async fn at_rest(&self, quiet: Duration) -> anyhow::Result<Vec<Entry>> {
        let namespace = self.ns.namespace.as_str();
        at_rest(self.ns.cluster, quiet, |entry| entry.namespace == namespace).await
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
    pub(super) async fn is_left(&self, web: &Monitored<'_>) -> anyhow::Result<()> {
        self.keeps_pods(web).await?;
        let now = web.set().await?;
        ensure!(
            now["metadata"]["uid"] == self.set["metadata"]["uid"],
            "another StatefulSet"
        );
        ensure!(live(&now) == live(&self.set), "{}", live(&now));
        Ok(())
    }

    /// Fails if a Pod is another one.
    pub(super) async fn keeps_pods(&self, web: &Monitored<'_>) -> anyhow::Result<()> {
        let now = web.ns.pods().await?;
        ensure!(now == self.pods, "Pods: {now:?}, before {:?}", self.pods);
        Ok(())
    }
}

/// The live size.
pub(super) fn live(set: &Value) -> &Value {
    &set["spec"]["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]["storage"]
}

/// The settings with the owner, as the policy and the controllers have them.
pub(super) fn settings(further: &Value) -> Value {
    let mut settings = json!({"defaultUpdatePolicy": "InPlace", "stageOwnedBy": [OWNER]});
    for (key, value) in further.as_object().into_iter().flatten() {
        settings[key] = value.clone();
    }
    settings
}

/// All writes of the operator, to objects of any kind but Events.
pub(super) async fn writes(cluster: &Cluster) -> anyhow::Result<Vec<Entry>> {
    let mut entries = cluster.audit().await?;
    entries.retain(|entry| entry.user == OPERATOR && entry.resource != "events");
    Ok(entries)
}

/// Waits until the operator has not written for this long, and returns all of its writes of this kind. An operator that
/// writes again and again is never at rest.
pub(super) async fn at_rest(
    cluster: &Cluster,
    quiet: Duration,
    about: impl Fn(&Entry) -> bool,
) -> anyhow::Result<Vec<Entry>> {
    let (mut count, mut since) = (0, Instant::now());
    let mut last = String::new();
    let rest = eventually("the operator to be at rest", PATIENCE + quiet, async || {
        let mut all = writes(cluster).await?;
        all.retain(&about);
        if all.len() > count {
            last = kinds(&all[count..]);
            (count, since) = (all.len(), Instant::now());
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        Ok((since.elapsed() >= quiet).then_some(all))
    });
    rest.await.with_context(|| format!("its last writes: {last}"))
}

/// The numbers of the writes by kind, as text.
pub(super) fn kinds(writes: &[Entry]) -> String {
    let mut counts = BTreeMap::<String, usize>::new();
    for entry in writes {
        let Entry {
            verb,
            resource,
            subresource,
            code,
            ..
        } = entry;
        let slash = if subresource.is_empty() { "" } else { "/" };
        *counts
            .entry(format!("{verb} {resource}{slash}{subresource} {code}"))
            .or_default() += 1;
    }
    let counts: Vec<String> = counts.iter().map(|(kind, count)| format!("{count} x {kind}")).collect();
    format!("{} writes of the operator ({})", writes.len(), counts.join(", "))
}

/// The writes to StatefulSets, each as verb and status, without those that lost a race and were repeated.
pub(super) fn of_sets(writes: &[Entry]) -> Vec<(&str, u16)> {
    let is_set =
        |entry: &&Entry| entry.resource == "statefulsets" && (entry.verb.as_str(), entry.code) != ("update", 409);
    let sets = writes.iter().filter(is_set);
    sets.map(|entry| (entry.verb.as_str(), entry.code)).collect()
}

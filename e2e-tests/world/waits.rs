//! Waiting for states of a [`TestNamespace`].

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

use super::namespace::{TestNamespace, condition, label, text};
use super::waiting::until;

/// Whether the StatefulSet controller has seen the last change.
pub(crate) fn is_observed(set: &Value) -> bool {
    set["metadata"]["generation"].is_u64() && set["status"]["observedGeneration"] == set["metadata"]["generation"]
}

/// Whether the StatefulSet controller has nothing left to do.
fn is_settled(set: &Value) -> bool {
    let (spec, status) = (&set["spec"], &set["status"]);
    let count = |key: &str| status[key].as_u64().unwrap_or_default();
    let replicas = spec["replicas"].as_u64().unwrap_or_default();
    let all = ["replicas", "readyReplicas", "availableReplicas"].map(count) == [replicas; 3];
    let waits = spec["updateStrategy"]["rollingUpdate"]["partition"].as_u64() > Some(0);
    let updated = waits || status["currentRevision"] == status["updateRevision"];
    all && updated && is_observed(set)
}

impl TestNamespace<'_> {
    /// Waits until an object, such as `statefulset/web`, matches, and returns it. An absent object is null, and `staged` is
    /// the staged change of `web`. The failure has what was seen last, and the log of the controller.
    pub(crate) async fn until(
        &self,
        what: &str,
        object: &str,
        matches: impl FnMut(&Value) -> bool,
    ) -> anyhow::Result<Value> {
        let found = until(what, async || self.get(object).await, matches).await;
        found.with_context(|| format!("{object} in {}\n{}", self.namespace, self.log()))
    }

    /// The same for all objects of a kind, such as `pvc`, sorted by name.
    pub(crate) async fn until_all(
        &self,
        what: &str,
        kind: &str,
        mut matches: impl FnMut(&[Value]) -> bool,
    ) -> anyhow::Result<Vec<Value>> {
        let found = until(what, async || self.list(kind).await, |all| matches(all)).await;
        found.with_context(|| format!("{kind} in {}\n{}", self.namespace, self.log()))
    }

    /// Waits until so many Pods are Ready.
    pub(crate) async fn until_ready(&self, replicas: u32) -> anyhow::Result<()> {
        let ready = |set: &Value| is_observed(set) && set["status"]["readyReplicas"] == replicas;
        self.until("Pods to be Ready", "statefulset/web", ready).await.map(drop)
    }

    /// Waits until the StatefulSet controller has nothing left to do for the StatefulSet, and returns it.
    pub(crate) async fn settled(&self) -> anyhow::Result<Value> {
        self.until("the set to settle", "statefulset/web", is_settled).await
    }

    /// Waits until the controller reports that all PVCs of a StatefulSet with one template have this size, and checks
    /// the PVCs.
    pub(crate) async fn until_complete(&self, replicas: usize, size: &str) -> anyhow::Result<()> {
        self.until_claims_complete(replicas, replicas, size).await
    }

    /// The same for a StatefulSet with this many PVCs.
    pub(crate) async fn until_claims_complete(&self, replicas: usize, count: usize, size: &str) -> anyhow::Result<()> {
        let read = async || Ok(json!({"staged": self.staged_change().await?, "rollout": self.rollout().await?}));
        let complete = |seen: &Value| {
            let (change, rollout) = (&seen["staged"], &seen["rollout"]);
            let wanted = &change["templates"][0]["spec"]["resources"]["requests"]["storage"];
            let reported = condition(rollout, "Ready") == "True" && rollout["status"]["readyReplicas"] == replicas;
            change["phase"] == "Complete" && wanted == size && reported && is_of(rollout, change)
        };
        let change = match until("the rollout to be complete", read, complete).await {
            Ok(mut seen) => seen["staged"].take(),
            Err(error) => bail!("{}: {error:#}\n{}", self.namespace, self.log()),
        };
        let claims = self.claims().await?;
        ensure!(claims.len() == count, "{} claims", claims.len());
        let label = label(&change);
        for claim in claims {
            let found = text(&claim["metadata"]["labels"]["claim-rollout.io/revision"]);
            // Another StatefulSet with the same templates has another staging.
            let is_ours = claim["metadata"]["labels"]["app"] == "web";
            let is_at = found == label || !is_ours && found.split('.').next() == label.split('.').next();
            let as_desired = claim["status"]["capacity"]["storage"] == size && is_at;
            ensure!(as_desired, "expected {size} at {label}, but found {claim:#}");
        }
        Ok(())
    }

    /// Waits until the ClaimRollout matches, and returns it.
    pub(crate) async fn until_reported(&self, what: &str, matches: impl Fn(&Value) -> bool) -> anyhow::Result<Value> {
        self.until(what, "claimrollout/web", matches).await
    }

    /// Waits until the condition `Ready` has this reason and this in its message.
    pub(crate) async fn until_reason(&self, reason: &str, message: &str) -> anyhow::Result<Value> {
        let is = |rollout: &Value| {
            let conditions = rollout["status"]["conditions"].as_array();
            let ready = conditions.and_then(|all| all.iter().find(|one| one["type"] == "Ready"));
            ready.is_some_and(|ready| ready["reason"] == reason && text(&ready["message"]).contains(message))
        };
        self.until_reported(&format!("{reason}: {message}"), is).await
    }

    /// Waits until this many Pods have the update revision and all Pods are Ready. A status that is older than the last
    /// change of the StatefulSet does not count.
    pub(crate) async fn until_updated(&self, replicas: usize) -> anyhow::Result<()> {
        let updated = |set: &Value| {
            let ready = is_observed(set) && set["status"]["readyReplicas"] == set["spec"]["replicas"];
            ready && set["status"]["updatedReplicas"] == replicas
        };
        self.until("updated Pods", "statefulset/web", updated).await.map(drop)
    }

    /// Waits until the StatefulSet is another one than before.
    pub(crate) async fn until_another(&self, before: &Value) -> anyhow::Result<Value> {
        let another = |set: &Value| !set.is_null() && set["metadata"]["uid"] != before["metadata"]["uid"];
        self.until("another StatefulSet", "statefulset/web", another).await
    }

    /// Waits until an Event with this reason regards the StatefulSet.
    pub(crate) async fn until_event(&self, reason: &str) -> anyhow::Result<()> {
        let emitted = until(
            reason,
            async || self.events().await,
            |events| events.contains_key(reason),
        );
        emitted.await.with_context(|| self.log()).map(drop)
    }

    /// Waits until the StatefulSet controller reports that it may not delete this Pod yet, and has written its status
    /// after that. Returns the message.
    pub(crate) async fn until_denied(&self, pod: &str) -> anyhow::Result<String> {
        let what = format!("the deletion of {pod} to be denied");
        let of_pod = |event: &&Value| {
            event["reason"] == "FailedDelete" && text(&event["message"]).contains(&format!("Pod {pod} "))
        };
        let events = self.until_all(&what, "event", |events| events.iter().any(|event| of_pod(&event)));
        let events = events.await?;
        self.until("the status after it", "statefulset/web", is_observed)
            .await?;
        Ok(events
            .iter()
            .find(of_pod)
            .map(|event| text(&event["message"]))
            .unwrap_or_default())
    }
}

/// Whether the ClaimRollout is the one of this staged change.
fn is_of(rollout: &Value, change: &Value) -> bool {
    ["revision", "staging"]
        .iter()
        .all(|field| rollout["spec"][field] == change[field])
}

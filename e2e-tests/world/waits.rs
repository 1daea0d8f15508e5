//! Waiting for states of a [`TestNamespace`].

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};

use super::namespace::{PATIENCE, TestNamespace, condition, label, text};
use crate::world::eventually;

impl TestNamespace<'_> {
    pub(crate) async fn until_ready(&self, replicas: u32) -> anyhow::Result<()> {
        let mut last = Value::Null;
        let what = format!("{replicas} Pods of {}", self.namespace);
        let ready = eventually(&what, PATIENCE, async || {
            let set = self.set().await?;
            last = set["status"].clone();
            let current = last["observedGeneration"] == set["metadata"]["generation"];
            Ok((current && last["readyReplicas"] == replicas).then_some(()))
        });
        ready.await.with_context(|| format!("the last status was {last}"))
    }

    /// Waits until the StatefulSet controller has nothing left to do for the StatefulSet, and returns it.
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

    /// Waits until the controller reports that all PVCs of a StatefulSet with one template have this size, and checks
    /// the PVCs.
    pub(crate) async fn until_complete(&self, replicas: usize, size: &str) -> anyhow::Result<()> {
        self.until_claims_complete(replicas, replicas, size).await
    }

    /// The same for a StatefulSet with this many PVCs.
    pub(crate) async fn until_claims_complete(&self, replicas: usize, count: usize, size: &str) -> anyhow::Result<()> {
        let mut seen = Value::Null;
        let what = format!("{} to be complete", self.namespace);
        let waited = eventually(&what, PATIENCE, async || {
            let change = self.staged_change().await?;
            let wanted = &change["templates"][0]["spec"]["resources"]["requests"]["storage"];
            let rollout = self.rollout().await?;
            seen = json!({"staged": change, "status": rollout["status"]});
            let complete = change["phase"] == "Complete" && wanted == size;
            let reported = condition(&rollout, "Ready") == "True" && rollout["status"]["readyReplicas"] == replicas;
            Ok((complete && reported && is_of(&rollout, &change)).then_some(change))
        });
        let change = match waited.await {
            Ok(change) => change,
            Err(error) => bail!("{error:#}; the last was {seen:#}\n{}", self.log()),
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
        let mut last = Value::Null;
        let reported = eventually(what, PATIENCE, async || {
            last = self.rollout().await?;
            Ok(matches(&last).then(|| last.clone()))
        });
        let reported = reported.await;
        reported.with_context(|| format!("{}: the last was {:#}\n{}", self.namespace, last["status"], self.log()))
    }

    /// Waits until this many Pods have the update revision and all Pods are Ready. A status that is older than the last
    /// change of the StatefulSet does not count.
    pub(crate) async fn until_updated(&self, replicas: usize) -> anyhow::Result<()> {
        let mut last = Value::Null;
        let what = format!("{replicas} updated Pods of {}", self.namespace);
        let updated = eventually(&what, PATIENCE, async || {
            let set = self.set().await?;
            last = set["status"].clone();
            let current = last["observedGeneration"] == set["metadata"]["generation"];
            let ready = current && last["readyReplicas"] == set["spec"]["replicas"];
            Ok((ready && last["updatedReplicas"] == replicas).then_some(()))
        });
        updated.await.with_context(|| format!("the last status was {last}"))
    }

    /// Waits until an Event with this reason regards the StatefulSet.
    pub(crate) async fn until_event(&self, reason: &str) -> anyhow::Result<()> {
        let emitted = eventually(reason, PATIENCE, async || {
            Ok(self.events().await?.contains_key(reason).then_some(()))
        });
        emitted.await.with_context(|| self.log())
    }

    /// Waits until the StatefulSet controller reports that it may not delete this Pod yet, and has written its status
    /// after that. Returns the message.
    pub(crate) async fn until_denied(&self, pod: &str) -> anyhow::Result<String> {
        let what = format!("the deletion of {pod} to be denied");
        let denied = eventually(&what, PATIENCE, async || {
            let events = self.done(&["get", "events", "-o", "json"], "").await?;
            let events: Value = serde_json::from_str(&events.stdout)?;
            let messages = events["items"].as_array().into_iter().flatten();
            let mut messages = messages.filter(|event| event["reason"] == "FailedDelete");
            let of_pod = |event: &&Value| {
                event["message"]
                    .as_str()
                    .is_some_and(|text| text.contains(&format!("Pod {pod} ")))
            };
            Ok(messages.find(of_pod).map(|event| text(&event["message"])))
        });
        let message = denied.await.with_context(|| self.log())?;
        let observed = eventually("the status after it", PATIENCE, async || {
            let set = self.set().await?;
            let is_current = set["status"]["observedGeneration"] == set["metadata"]["generation"];
            Ok(is_current.then_some(()))
        });
        observed.await?;
        Ok(message)
    }
}

/// Whether the ClaimRollout is the one of this staged change.
fn is_of(rollout: &Value, change: &Value) -> bool {
    ["revision", "staging"]
        .iter()
        .all(|field| rollout["spec"][field] == change[field])
}

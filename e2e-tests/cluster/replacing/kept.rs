//! What a replacement must not change, and what its end reports.

use anyhow::ensure;
use serde_json::{Value, json};

use crate::world::Cluster;
use crate::world::installation::USER;
use crate::world::namespace::{TestNamespace, text};

/// A StatefulSet with its Pods and PVCs, before something happens to it.
pub(crate) struct Before {
    pub(crate) set: Value,
    pub(crate) pods: Vec<Value>,
    claims: Vec<Value>,
}

impl Before {
    pub(crate) async fn of(ns: &TestNamespace<'_>) -> anyhow::Result<Self> {
        Self::with(ns, ns.set().await?).await
    }

    /// The same for a StatefulSet as it was then.
    pub(crate) async fn with(ns: &TestNamespace<'_>, set: Value) -> anyhow::Result<Self> {
        Ok(Self {
            set,
            pods: ns.pods().await?,
            claims: claims(ns).await?,
        })
    }

    /// Fails if a Pod restarted, or if a PVC is another one or asks for something else.
    pub(crate) async fn keeps_pods_and_claims(&self, ns: &TestNamespace<'_>) -> anyhow::Result<()> {
        let pods = ns.pods().await?;
        ensure!(pods == self.pods, "Pods: {pods:#?}, before {:#?}", self.pods);
        self.keeps_claims(ns).await
    }

    /// Fails if a PVC is another one or asks for something else.
    pub(crate) async fn keeps_claims(&self, ns: &TestNamespace<'_>) -> anyhow::Result<()> {
        let claims = claims(ns).await?;
        ensure!(claims == self.claims, "PVCs: {claims:#?}, before {:#?}", self.claims);
        Ok(())
    }

    /// The same; the StatefulSet is as before, too.
    pub(crate) async fn keeps_everything(&self, ns: &TestNamespace<'_>) -> anyhow::Result<()> {
        self.keeps_pods_and_claims(ns).await?;
        let set = ns.set().await?;
        let (now, then) = (state(&set), state(&self.set));
        ensure!(now == then, "StatefulSet: {now:#}, before {then:#}");
        Ok(())
    }
}

/// S3 for replacements, in every namespace: each write of ours to a StatefulSet names what it was decided for,
/// and no DELETE takes Pods along.
pub(crate) async fn every_write_names_its_version(cluster: &Cluster) -> anyhow::Result<()> {
    let mut seen = 0;
    for entry in cluster.audit().await? {
        let is_of_set = entry.resource == "statefulsets" && entry.subresource.is_empty();
        // A dry run writes nothing. The tests send some as the controller.
        if entry.user != USER || !is_of_set || entry.dry_run() {
            continue;
        }
        let request = entry.request.value();
        let metadata = &request["metadata"];
        let preconditions = &request["preconditions"];
        let has = |of: &Value, keys: &[&str]| keys.iter().all(|key| of[*key].is_string());
        let tests = |path: &str| {
            let mut operations = request.as_array().into_iter().flatten();
            operations.any(|one| one["op"] == "test" && one["path"] == path)
        };
        let is_named = match &*entry.verb {
            "patch" => {
                has(metadata, &["uid", "resourceVersion"])
                    || tests("/metadata/uid") && tests("/metadata/generation") && tests("/metadata/finalizers")
            }
            "update" => has(metadata, &["uid", "resourceVersion"]),
            "delete" => has(preconditions, &["uid"]) && request["propagationPolicy"] == "Orphan",
            "create" => true,
            _ => continue,
        };
        ensure!(is_named, "{entry:?} names {request:#}");
        seen += 1;
    }
    ensure!(seen > 0 || std::env::var_os("SCENARIO").is_some(), "no write was seen");
    Ok(())
}

/// The uid and the spec of each PVC.
async fn claims(ns: &TestNamespace<'_>) -> anyhow::Result<Vec<Value>> {
    let claim = |claim: &Value| json!([claim["metadata"]["uid"], claim["spec"]]);
    Ok(ns.claims().await?.iter().map(claim).collect())
}

/// The StatefulSet without what changes at every write.
fn state(set: &Value) -> Value {
    let mut metadata = set["metadata"].clone();
    if let Some(metadata) = metadata.as_object_mut() {
        metadata.retain(|key, _| !["resourceVersion", "managedFields", "generation"].contains(&&**key));
    }
    json!([metadata, set["spec"], set["status"]["updateRevision"]])
}

/// Waits until the replacement reports this phase and reason, also by an Event, and returns the message.
pub(crate) async fn until_reported(ns: &TestNamespace<'_>, phase: &str, reason: &str) -> anyhow::Result<String> {
    let what = format!("{phase} {reason}");
    let is_it = |rollout: &Value| {
        let found = &rollout["status"]["replacement"];
        found["phase"] == phase && found["reason"] == reason
    };
    let rollout = ns.until_reported(&what, is_it).await?;
    let message = text(&rollout["status"]["replacement"]["message"]);
    let expected = format!("{reason}: {message}");
    let is_it = |event: &Value| event["reason"] == "StatefulSetNotReplaced" && event["message"] == *expected;
    ns.until_all(&expected, "event", |events| events.iter().any(is_it))
        .await?;
    Ok(message)
}

/// Waits until the replacement has ended as complete.
pub(crate) async fn until_complete(ns: &TestNamespace<'_>) -> anyhow::Result<()> {
    let is_replaced = |rollout: &Value| rollout["status"]["replacement"]["phase"] == "Replaced";
    ns.until_reported("the replacement to be complete", is_replaced)
        .await
        .map(drop)
}

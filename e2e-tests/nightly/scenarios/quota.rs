//! A quota blocks the rollout, while the usage of another user goes up and down.

use anyhow::ensure;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};

use crate::world::World;
use crate::world::installation::USER;
use crate::world::namespace::TestNamespace;
use crate::world::web::Web;

/// The number of failed writes: the pauses between them are 1, 2, 4 and 8 seconds.
const FAILURES: usize = 5;

fn quota(storage: &str) -> String {
    let hard = json!({"requests.storage": storage, "requests.ephemeral-storage": "10Gi"});
    json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "storage"}, "spec": {"hard": hard}})
        .to_string()
}

/// The objects of another user: a PVC, and a Pod with ephemeral storage.
fn others() -> String {
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "other"},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": "expandable",
            "resources": {"requests": {"storage": "100Mi"}},
        },
    });
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "other"},
        "spec": {"terminationGracePeriodSeconds": 0, "containers": [{
            "name": "main", "image": "example/main:1", "resources": {"requests": {"ephemeral-storage": "1Gi"}},
        }]},
    });
    json!({"apiVersion": "v1", "kind": "List", "items": [claim, pod]}).to_string()
}

/// Waits until the quota reports this usage.
async fn until_used(ns: &TestNamespace<'_>, storage: &str, ephemeral: &str) -> anyhow::Result<()> {
    let is_used = |quota: &Value| {
        let used = &quota["status"]["used"];
        used["requests.storage"] == storage && used["requests.ephemeral-storage"] == ephemeral
    };
    ns.until("the quota to count", "quota/storage", is_used).await.map(drop)
}

/// The times at which applies of the PVC failed.
async fn failures(ns: &TestNamespace<'_>, claim: &str) -> anyhow::Result<Vec<Timestamp>> {
    let writes = ns.writes_of(USER).await?;
    let refused = writes.iter().filter(|entry| entry.name == claim && entry.code == 403);
    let times: Result<Vec<Timestamp>, _> = refused.map(|entry| entry.stage_timestamp.parse()).collect();
    Ok(times?)
}

pub(super) async fn changing_quota_usage_causes_no_extra_retry_or_event(env: &World) -> anyhow::Result<()> {
    let ns = env.with_web("quota-dips", &Web::replicas(2).partition(1)).await?;
    ns.target(&Web::replicas(2).size("2Gi").partition(1)).await?;
    ns.until_reported("the first claim", |rollout| rollout["status"]["readyReplicas"] == 1)
        .await?;
    // With or without the other PVC, another 1Gi is too much.
    ns.target(&quota("3500Mi")).await?;
    until_used(&ns, "3Gi", "0").await?;
    let lowered = r#"{"spec": {"updateStrategy": {"rollingUpdate": {"partition": 0}}}}"#;
    ns.done(&["patch", "statefulset", "web", "--patch", lowered], "")
        .await?;
    let mut dips = 0;
    while failures(&ns, "data-web-0").await?.len() < FAILURES {
        ns.done(&["create", "-f", "-"], &others()).await?;
        until_used(&ns, "3172Mi", "1Gi").await?;
        ns.done(&["delete", "--wait", "-f", "-"], &others()).await?;
        until_used(&ns, "3Gi", "0").await?;
        dips += 1;
    }
    println!("{}: {dips} dips between {FAILURES} failures", ns.namespace);
    let times = failures(&ns, "data-web-0").await?;
    for (number, pair) in times.windows(2).enumerate() {
        // The clock of the controller counts whole seconds.
        let least = (1_i64 << number.min(8)) - 1;
        let pause = pair[1].duration_since(pair[0]).as_secs();
        ensure!(
            pause >= least,
            "the pause after failure {} took {pause} s: {times:?}",
            number + 1
        );
    }
    let events = ns.events().await?;
    ensure!(events.get("FailedToPatchPVC") == Some(&1), "{events:?}");

    ns.target(&quota("9Gi")).await?;
    ns.until_complete(2, "2Gi").await
}

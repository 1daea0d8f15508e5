//! Pods that are deleted for other reasons than replacement, while the gate is closed: each is deleted.

use anyhow::{Context as _, ensure};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::world::World;
use crate::world::namespace::TestNamespace;
use crate::world::web::Web;

/// A StatefulSet of three whose Pods wait: the write of the highest PVC is held.
async fn waiting<'a>(env: &'a World, namespace: &str) -> anyhow::Result<TestNamespace<'a>> {
    let ns = env.with_set(namespace, 3).await?;
    env.barriers.hold_claim(namespace, "data-web-2");
    ns.target(&Web::replicas(3).size("2Gi").image("2")).await?;
    let held = env.barriers.until_held(namespace).await;
    held.with_context(|| ns.log())?;
    ns.until_denied("web-2").await?;
    Ok(ns)
}

async fn uid(ns: &TestNamespace<'_>, pod: &str) -> anyhow::Result<String> {
    let arguments = [
        "get",
        "pod",
        pod,
        "-o",
        "jsonpath={.metadata.uid}",
        "--ignore-not-found",
    ];
    Ok(ns.done(&arguments, "").await?.stdout)
}

async fn until_another(ns: &TestNamespace<'_>, pod: &str, uid_before: &str) -> anyhow::Result<()> {
    let is_another = |pod: &Value| !pod.is_null() && pod["metadata"]["uid"] != uid_before;
    ns.until("another Pod", &format!("pod/{pod}"), is_another)
        .await
        .map(drop)
}

async fn write_status(ns: &TestNamespace<'_>, pod: &str, status: &Value) -> anyhow::Result<()> {
    let patch = json!({ "status": status }).to_string();
    let arguments = [
        "patch",
        "pod",
        pod,
        "--subresource=status",
        "--type=strategic",
        "-p",
        &patch,
    ];
    ns.done(&arguments, "").await.map(drop)
}

async fn ends(env: &World, ns: &TestNamespace<'_>, replicas: u32) -> anyhow::Result<()> {
    env.barriers.open(&ns.namespace);
    let size = usize::try_from(replicas)?;
    ns.until_updated(size).await.with_context(|| ns.log())?;
    ns.until("every claim", "staged", |change| change["phase"] == "Complete")
        .await?;
    let claims = ns.claims().await?;
    let grown = claims
        .iter()
        .take(size)
        .all(|claim| claim["status"]["capacity"]["storage"] == "2Gi");
    ensure!(grown, "{claims:#?}");
    Ok(())
}

pub(super) async fn scaled_down_pods_are_deleted_and_new_ones_created(env: &World) -> anyhow::Result<()> {
    let ns = waiting(env, "stopped-scaled").await?;
    for (replicas, ready) in [("--replicas=5", 5), ("--replicas=2", 2)] {
        ns.done(&["scale", "statefulset", "web", replicas], "").await?;
        ns.until_ready(ready).await?;
    }
    ns.until("web-2 to be deleted", "pod/web-2", Value::is_null).await?;
    ends(env, &ns, 2).await
}

pub(super) async fn failed_or_disrupted_pods_are_deleted(env: &World) -> anyhow::Result<()> {
    let ns = waiting(env, "stopped-failed").await?;
    let before = uid(&ns, "web-0").await?;
    write_status(&ns, "web-0", &json!({"phase": "Failed"})).await?;
    until_another(&ns, "web-0", &before).await?;
    ns.until_ready(3).await?;

    // What the taint manager does before it deletes. Here the StatefulSet controller deletes web-2 at each change of
    // the Pod. The disruption controller removes a condition without a time at once, so its time is two minutes ago.
    let before = uid(&ns, "web-2").await?;
    #[allow(clippy::disallowed_methods, reason = "the taint manager has a clock")]
    let now = Timestamp::now();
    let condition = json!({
        "type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager",
        "lastTransitionTime": now.to_string(),
    });
    write_status(&ns, "web-2", &json!({"conditions": [condition]})).await?;
    until_another(&ns, "web-2", &before).await?;
    ns.until_ready(3).await?;
    ends(env, &ns, 3).await
}

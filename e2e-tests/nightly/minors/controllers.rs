//! What the controllers of Kubernetes do.

use anyhow::{Context as _, ensure};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::fields::claim;
use crate::world::namespace::{PATIENCE, TestNamespace, condition, text};
use crate::world::web::Web;
use crate::world::{Entry, STATEFULSET_CONTROLLER, World, eventually, until};

fn parallel(replicas: u32) -> Web {
    Web::replicas(replicas).plain().parallel()
}

/// The deletions of Pods by the StatefulSet controller.
async fn deletions(ns: &TestNamespace<'_>) -> anyhow::Result<Vec<Entry>> {
    let mut written = ns.writes_of(STATEFULSET_CONTROLLER).await?;
    written.retain(|entry| entry.resource == "pods" && entry.verb == "delete" && entry.succeeded());
    Ok(written)
}

/// Waits until the StatefulSet controller has deleted so many Pods.
async fn until_deleted(ns: &TestNamespace<'_>, count: usize) -> anyhow::Result<Vec<Entry>> {
    let what = format!("{count} Pods of {} to be deleted", ns.namespace);
    until(&what, async || deletions(ns).await, |deleted| deleted.len() >= count).await
}

/// `updateStatefulSet` in `pkg/controller/statefulset/stateful_set_control.go`.
pub(super) async fn first_replaced(env: &World) -> anyhow::Result<String> {
    let ns = env.namespace("minors-parallel").await?;
    ns.target(&parallel(3)).await?;
    ns.until_ready(3).await?;
    ns.typed("annotate pod web-0 e2e.claim-rollout.io/ready=false").await?;
    ns.typed("wait --for=condition=Ready=false pod/web-0 --timeout=60s")
        .await?;
    ns.target(&parallel(3).image("2")).await?;
    ns.until_updated(3).await?;
    let deleted = deletions(&ns).await?;
    ensure!(deleted.len() == 3, "{deleted:?}");
    Ok(deleted[0].name.clone())
}

/// The same function.
pub(super) async fn waits_for_seconds(env: &World) -> anyhow::Result<String> {
    const SECONDS: i64 = 20;
    let ns = env.namespace("minors-seconds").await?;
    let waiting = parallel(2).spec(&json!({"minReadySeconds": SECONDS}));
    ns.target(&waiting).await?;
    ns.settled().await?;
    ns.target(&waiting.image("2")).await?;
    let deleted = until_deleted(&ns, 2).await?;
    ensure!(deleted.len() == 2 && deleted[0].name == "web-1", "{deleted:?}");
    // The successor of the first one.
    let ready = ns
        .all("", "v1", "Pod")
        .await?
        .into_iter()
        .find(|pod| pod["metadata"]["name"] == "web-1");
    let ready = ready.context("web-1")?;
    ensure!(condition(&ready, "Ready") == "True", "{ready:#}");
    let conditions = ready["status"]["conditions"].as_array().into_iter().flatten();
    let mut since = conditions.filter(|condition| condition["type"] == "Ready");
    let since: Timestamp = text(&since.next().context("Ready")?["lastTransitionTime"]).parse()?;
    let next: Timestamp = deleted[1].stage_timestamp.parse()?;
    Ok(if next.as_second() - since.as_second() < SECONDS {
        "no"
    } else {
        "yes"
    }
    .to_owned())
}

/// `updateUnusedCondition` in `pkg/controller/volume/pvcprotection/pvc_protection_controller.go`.
pub(super) async fn unused(env: &World) -> anyhow::Result<String> {
    let ns = env.namespace("minors-unused").await?;
    for name in ["data", "later"] {
        ns.target(&claim(name)).await?;
    }
    // The same controller removes a finalizer of this one.
    ns.typed("delete pvc later").await?;
    ns.typed("wait --timeout=120s --for=jsonpath={.status.phase}=Bound pvc/data")
        .await?;
    // Where none is documented, none comes in this time.
    let limit = if env.cluster.minor() >= 37 {
        PATIENCE
    } else {
        PATIENCE / 12
    };
    let written = eventually("a condition", limit, async || {
        let claims = ns.claims().await?;
        let conditions = claims[0]["status"]["conditions"].as_array().into_iter().flatten();
        let mut unused = conditions.filter(|condition| condition["status"] == "True");
        Ok(unused.next().map(|condition| text(&condition["type"])))
    });
    Ok(written.await.unwrap_or_else(|_| "none".to_owned()))
}

/// `recordClaimEvent` in `pkg/controller/statefulset/stateful_pod_control.go`.
pub(super) async fn events(env: &World) -> anyhow::Result<String> {
    let ns = env.namespace("minors-events").await?;
    ns.target(&Web::replicas(1).plain()).await?;
    let is_it = |event: &&Value| text(&event["message"]).contains("Claim data-web-0 ");
    let events = ns.until_all("an Event", "event", |events| events.iter().any(|event| is_it(&event)));
    let events = events.await?;
    let message = events.iter().find(is_it).map(|event| text(&event["message"]));
    let message = message.unwrap_or_default();
    Ok(message.split(' ').next().unwrap_or_default().to_owned())
}

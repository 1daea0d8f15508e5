//! The RabbitMQ cluster operator grows PVCs itself, and re-creates the StatefulSet: claim-rollout does nothing, also if
//! `stageOwnedBy` names it by mistake.

use anyhow::ensure;
use serde_json::{Value, json};

use super::rabbitmq::{RABBITMQ, failure};
use super::trial::{Before, Owned, live};
use super::written::in_numbers;
use crate::world::installation::USER;
use crate::world::namespace::{STAGED, text};
use crate::world::{Entry, World, until};

/// What the operator writes to PVCs and its StatefulSet when the volumes grow, in this order.
const GROWTH: [(&str, &str, &str); 5] = [
    ("delete", "statefulsets", "web-server"),
    ("update", "persistentvolumeclaims", "persistence-web-server-0"),
    ("update", "persistentvolumeclaims", "persistence-web-server-1"),
    ("update", "persistentvolumeclaims", "persistence-web-server-2"),
    ("create", "statefulsets", "web-server"),
];
/// Each of its reconciles updates the StatefulSet, also if nothing changes. It may have one left from before.
const AS_IT_IS: (&str, &str, &str) = ("update", "statefulsets", "web-server");

/// The command line of kubectl that waits until all Pods of the StatefulSet are new ones.
const REPLACED: &str = "rollout status statefulset/web-server --timeout=120s";

/// A user grows another StatefulSet of the namespace at the same time.
pub(super) async fn growth_beside_another_set(env: &World) -> anyhow::Result<()> {
    let web = Owned::skipped(env, &RABBITMQ, "recreated-beside").await?;
    web.ns.apply(2, "1Gi").await?;
    web.ns.typed("rollout status statefulset/web --timeout=120s").await?;
    let before = web.before().await?;
    web.ns.apply(2, "2Gi").await?;
    grows(&web, &before).await?;
    web.ns
        .typed("wait claimrollout/web --for=condition=Ready --timeout=120s")
        .await?;
    let claims = web.ns.claims().await?;
    let grown = |claim: &&Value| claim["status"]["capacity"]["storage"] == "2Gi";
    ensure!(claims.iter().filter(grown).count() == 5, "{claims:#?}");
    let written = web.ns.writes_of(USER).await?;
    let others: Vec<&Entry> = written
        .iter()
        .filter(|entry| entry.name.contains("web-server"))
        .collect();
    ensure!(others.is_empty(), "the controller wrote {others:?}");
    Ok(())
}

/// The operator creates the StatefulSet without the annotation of `kubectl rollout restart`.
pub(super) async fn growth_after_a_restart_restarts_pods(env: &World) -> anyhow::Result<()> {
    let web = Owned::skipped(env, &RABBITMQ, "recreated-restarted").await?;
    web.ns.typed("rollout restart statefulset/web-server").await?;
    web.ns.typed(REPLACED).await?;
    let before = web.before().await?;
    web.resize("2Gi").await?;
    web.until_created_anew(&before).await?;
    web.until_sizes("2Gi").await?;
    before.has_no_pod(&web).await?;
    writes_nothing(&web).await
}

/// The PVCs have the size already, so that the operator only updates the StatefulSet. If a user deletes it without its
/// Pods, the operator creates it again.
pub(super) async fn size_of_grown_pvcs_fails_with_422(env: &World) -> anyhow::Result<()> {
    let web = Owned::skipped(env, &RABBITMQ, "recreated-by-hand").await?;
    let before = web.before().await?;
    grow_by_hand(&web).await?;
    web.resize("2Gi").await?;
    until_failed(&web, "is invalid: spec").await?;
    before.is_left(&web).await?;
    web.ns.typed("delete statefulset web-server --cascade=orphan").await?;
    web.until_created_anew(&before).await?;
    before.is_replaced(&web, "2Gi").await?;
    writes_nothing(&web).await
}

/// The operator copies annotations of the RabbitmqCluster to the StatefulSet.
pub(super) async fn named_and_annotated_operator_grows_its_volumes(env: &World) -> anyhow::Result<()> {
    let annotations = json!({"claim-rollout.io/replace-set": "WhenComplete"});
    let web = Owned::named(env, &RABBITMQ, "recreated-annotated", annotations).await?;
    grows(&web, &web.before().await?).await?;
    writes_nothing(&web).await
}

/// The PVCs have the size already, so that the operator only updates the StatefulSet: that change is staged. The
/// operator owns the PVCs, so the rollout stalls, and no Pod waits for them. The next growth ends it.
pub(super) async fn staged_change_waits_for_owned_pvcs(env: &World) -> anyhow::Result<()> {
    let web = Owned::named(env, &RABBITMQ, "recreated-foreign", json!({})).await?;
    let before = web.before().await?;
    grow_by_hand(&web).await?;
    web.resize("2Gi").await?;
    until_failed(&web, "cannot patch persistentvolumeclaims").await?;
    web.allow_patches().await?;
    web.touch().await?;
    web.until_set("a staged change", is_staged).await?;
    let is_foreign = |rollout: &Value| rollout["status"]["conditions"][0]["reason"] == "ClaimForeign";
    web.until_reported("ClaimForeign", is_foreign).await?;
    let writes = web.writes_since(&before).await?;
    is_not_denied(&writes, &[403])?;
    before.is_left(&web).await?;

    let image = json!({"spec": {"image": "example/rabbitmq:next"}}).to_string();
    web.ns
        .typed(&format!("patch rabbitmqcluster web --type=merge -p '{image}'"))
        .await?;
    let image = |set: &Value| text(&set["spec"]["template"]["spec"]["containers"][0]["image"]);
    web.until_set("the image", |set| image(set) == "example/rabbitmq:next")
        .await?;
    web.ns.typed(REPLACED).await?;
    before.has_no_pod(&web).await?;

    web.resize("3Gi").await?;
    let set = web.until_created_anew(&before).await?;
    web.until_sizes("3Gi").await?;
    ensure!(live(&set) == "3Gi", "{}", live(&set));
    ensure!(!is_staged(&set), "{:#}", set["metadata"]);
    before.has_no_pod(&web).await?;
    // Its own objects, and for each replica the annotation by which Kubernetes tries again to replace its Pod.
    let written = web.ns.writes_of(USER).await?;
    let is_own = |entry: &&Entry| ["claimrollouts", "controllerrevisions"].contains(&entry.resource.as_str());
    let (own, others): (Vec<&Entry>, Vec<&Entry>) = written.iter().partition(is_own);
    ensure!(own.len() <= 10, "{own:?}");
    let is_named = |entry: &&Entry| (&*entry.verb, &*entry.resource) == ("patch", "statefulsets");
    let named = others.iter().filter(|entry| entry.code < 300);
    ensure!(others.iter().all(is_named) && named.count() <= 3, "{others:?}");
    Ok(())
}

fn is_staged(set: &Value) -> bool {
    !set["metadata"]["annotations"][STAGED].is_null()
}

/// Grows the volumes, waits until the operator is at rest, and checks all that it wrote.
async fn grows(web: &Owned<'_>, before: &Before) -> anyhow::Result<()> {
    web.resize("2Gi").await?;
    let set = web.until_created_anew(before).await?;
    web.until_sizes("2Gi").await?;
    let writes = web.writes_since(before).await?;
    before.is_replaced(web, "2Gi").await?;
    let now = web.set().await?;
    ensure!(
        now["metadata"]["uid"] == set["metadata"]["uid"],
        "a further StatefulSet"
    );
    ensure!(!is_staged(&now), "{:#}", now["metadata"]);
    is_not_denied(&writes, &[])?;
    let growth: Vec<_> = writes
        .iter()
        .filter(|entry| entry.code < 300)
        .map(|entry| (&*entry.verb, &*entry.resource, &*entry.name))
        .filter(|(_, resource, _)| ["statefulsets", "persistentvolumeclaims"].contains(resource))
        .filter(|write| *write != AS_IT_IS)
        .collect();
    ensure!(growth == GROWTH, "{growth:?}");
    let rollout = web.rollout().await?;
    ensure!(rollout.is_null(), "{rollout:#}");
    Ok(())
}

/// Fails if a request of the operator was answered with anything but success, a lost race (404, 409) or one of these
/// codes. The operator has no right to run commands in Pods here.
fn is_not_denied(writes: &[Entry], but: &[u16]) -> anyhow::Result<()> {
    let fails = |entry: &&Entry| {
        entry.subresource != "exec" && ![200, 201, 404, 409].contains(&entry.code) && !but.contains(&entry.code)
    };
    let failed: Vec<Entry> = writes.iter().filter(fails).cloned().collect();
    ensure!(failed.is_empty(), "{}", in_numbers(&failed));
    Ok(())
}

/// Fails if claim-rollout has ever written an object of the namespace, or an Event on its StatefulSet, or if a request
/// of anybody was denied there.
async fn writes_nothing(web: &Owned<'_>) -> anyhow::Result<()> {
    let written = web.ns.writes_of(USER).await?;
    ensure!(written.is_empty(), "the controller wrote {written:?}");
    let events = web.ns.events().await?;
    ensure!(events.is_empty(), "{events:?}");
    let mut denied = web.ns.cluster.audit().await?;
    denied.retain(|entry| entry.namespace == web.ns.namespace && entry.code == 403 && entry.subresource != "exec");
    ensure!(denied.is_empty(), "{denied:?}");
    Ok(())
}

/// A user gives all PVCs 2Gi.
async fn grow_by_hand(web: &Owned<'_>) -> anyhow::Result<()> {
    let patch = json!({"spec": {"resources": {"requests": {"storage": "2Gi"}}}}).to_string();
    for claim in web.claims().await? {
        let name = text(&claim["metadata"]["name"]);
        web.ns.typed(&format!("patch pvc {name} -p '{patch}'")).await?;
    }
    web.until_sizes("2Gi").await
}

/// Waits until the operator reports this failure.
async fn until_failed(web: &Owned<'_>, message: &str) -> anyhow::Result<()> {
    let reported = async || Ok(failure(&web.object().await?));
    let failed = |report: &String| report.contains(message);
    until("the operator to report its failure", reported, failed)
        .await
        .map(drop)
}

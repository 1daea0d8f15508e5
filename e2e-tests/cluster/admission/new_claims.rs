//! PVCs of a StatefulSet with a staged change are created from the desired templates, if the StatefulSet is certain and
//! can be read.

use anyhow::ensure;
use serde_json::{Value, json};

use crate::world::manifests::claim;
use crate::world::namespace::{TestNamespace, are_as_written, label};
use crate::world::served::Policies;
use crate::world::web::Web;
use crate::world::{EXPANDABLE, Entry, STATEFULSET_CONTROLLER, World};

/// Waits until a PVC has everything that it asks for.
async fn settled(ns: &TestNamespace<'_>, name: &str) -> anyhow::Result<Value> {
    let is_bound = |claim: &Value| claim["status"]["phase"] == "Bound";
    ns.until("the PVC to be bound", &format!("pvc/{name}"), is_bound).await
}

/// The creations of PVCs by the StatefulSet controller, also those that it repeats because its cache is behind (before
/// 1.36).
pub(super) async fn creations(ns: &TestNamespace<'_>) -> anyhow::Result<u64> {
    let writes = ns.writes_of(STATEFULSET_CONTROLLER).await?;
    let of_claims = |entry: &&Entry| entry.resource == "persistentvolumeclaims" && entry.verb == "create";
    Ok(writes.iter().filter(of_claims).count() as u64)
}

fn size(claim: &Value) -> &Value {
    &claim["spec"]["resources"]["requests"]["storage"]
}

fn revision(claim: &Value) -> &Value {
    &claim["metadata"]["labels"]["claim-rollout.io/revision"]
}

pub(super) async fn new_replica_after_staged_growth_gets_claim_at_target(env: &World) -> anyhow::Result<()> {
    let ns = &env.namespace("new-claims").await?;
    let served = Policies::of_sets(&[ns])?.and_claims()?.serve(&env.cluster).await?;
    ns.target(&Web::replicas(1)).await?;
    ns.settled().await?;
    let old = ns.claims().await?;
    let class = if env.cluster.modifies_volumes() { "gold" } else { "" };
    let mut target = Web::replicas(1)
        .size("2Gi")
        .template(&json!({"metadata": {"labels": {"tier": "a"}}}));
    if !class.is_empty() {
        target = target.attributes_class(class);
    }
    ns.target(&target).await?;
    let change = ns.staged_change().await?;
    let asked = served.claims();
    let before = creations(ns).await?;
    ns.typed("scale statefulset web --replicas=2").await?;
    ns.settled().await?;

    let created = settled(ns, "data-web-1").await?;
    ensure!(
        size(&created) == "2Gi" && created["status"]["capacity"]["storage"] == "2Gi",
        "{created:#}"
    );
    let labels = json!({"app": "web", "tier": "a", "claim-rollout.io/revision": label(&change)});
    ensure!(created["metadata"]["labels"] == labels, "{created:#}");
    let classes = [
        &created["spec"]["volumeAttributesClassName"],
        &created["status"]["currentVolumeAttributesClassName"],
    ];
    ensure!(class.is_empty() || classes == [class, class], "{created:#}");
    let asked = served.claims() - asked;
    ensure!(
        asked > 0 && asked == creations(ns).await? - before,
        "asked {asked} times"
    );
    ensure!(
        are_as_written(&ns.claims().await?[..1], &old),
        "the old claim was written"
    );

    // A PVC that another user creates is not changed, and the policy is not called.
    let all = served.claims();
    ns.done(&["create", "-f", "-"], &claim("data-web-2", EXPANDABLE))
        .await?;
    let foreign = settled(ns, "data-web-2").await?;
    ensure!(size(&foreign) == "1Gi" && revision(&foreign).is_null(), "{foreign:#}");
    ensure!(
        served.claims() == all,
        "the policy was called for the claim of another user"
    );
    Ok(())
}

pub(super) async fn without_claim_policy_new_claim_starts_small_and_is_expanded(env: &World) -> anyhow::Result<()> {
    let mut ns = env.namespace("new-claims-down").await?;
    let _sets = Policies::of_sets(&[&ns])?.serve(&env.cluster).await?;
    let claims = Policies::of_claims(&[&ns])?.serve(&env.cluster).await?;
    ns.target(&Web::replicas(1)).await?;
    ns.settled().await?;
    ns.target(&Web::replicas(1).size("2Gi")).await?;
    claims.lose().await?;
    ns.typed("scale statefulset web --replicas=2").await?;
    ns.settled().await?;
    let created = settled(&ns, "data-web-1").await?;
    ensure!(size(&created) == "1Gi" && revision(&created).is_null(), "{created:#}");

    let pods = ns.pods().await?;
    ns.start_controller(env, &[]).await?;
    ns.until_complete(2, "2Gi").await?;
    ensure!(ns.pods().await? == pods, "Pods restarted");
    let written = ns.writes_since(0).await?;
    written.is_a_rollout(&["data-web-1", "data-web-0"], 0)
}

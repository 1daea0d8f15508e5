//! Requests of users, and their results.

use anyhow::ensure;
use serde_json::json;

use crate::world::World;
use crate::world::managed_fields::managed_fields;
use crate::world::namespace::{TestNamespace, text};
use crate::world::web::Web;

/// A StatefulSet with this many replicas of 1Gi, all Ready.
async fn with_set<'a>(env: &'a World, namespace: &str, manifest: &Web) -> anyhow::Result<TestNamespace<'a>> {
    let ns = env.managed(namespace).await?;
    ns.target(manifest).await?;
    ns.settled().await?;
    Ok(ns)
}

pub(super) async fn grown_set_grows_its_claims_with_a_warning(env: &World) -> anyhow::Result<()> {
    let ns = with_set(env, "grows", &Web::replicas(2)).await?;
    let begun = ns.mark().await?;
    let warning = ns.apply(2, "2Gi").await?.stderr;
    ensure!(warning.contains("Warning: claim-rollout: "), "{warning}");
    ns.until_complete(2, "2Gi").await?;
    let written = ns.writes_since(begun).await?;
    written.is_a_rollout(&["data-web-1", "data-web-0"], 0)
}

pub(super) async fn disallowed_change_is_denied_with_a_reason(env: &World) -> anyhow::Result<()> {
    let ns = with_set(env, "refused", &Web::replicas(1)).await?;
    let before = ns.set().await?;
    for target in [Web::replicas(1).class("other"), Web::replicas(1).size("512Mi")] {
        let output = ns.kubectl(&["apply", "-f", "-"], &target).await?;
        let webhook = "admission webhook \"claim-rollout.claim-rollout.io\" denied the request: ";
        ensure!(
            !output.success && output.stderr.contains(webhook),
            "{target}: {output:?}"
        );
    }
    // The webhook looks up objects too: the attributes class does not exist yet.
    let bronze = Web::replicas(1).attributes_class("bronze");
    let warning = ns
        .done(&["apply", "--dry-run=server", "-f", "-"], &bronze)
        .await?
        .stderr;
    ensure!(
        warning.contains("data-web-0: volume attributes class bronze does not exist"),
        "{warning}"
    );
    ensure!(ns.set().await? == before, "the set was written");
    Ok(())
}

pub(super) async fn user_without_claim_rights_is_denied(env: &World) -> anyhow::Result<()> {
    let ns = with_set(env, "two-users", &Web::replicas(1)).await?;
    ns.give_rights_to_alice_and_bob().await?;
    let grown = Web::replicas(1).size("2Gi");
    let bob = ns.kubectl(&["apply", "--as=bob", "-f", "-"], &grown).await?;
    let sentence = "user bob cannot patch persistentvolumeclaims in namespace two-users";
    ensure!(!bob.success && bob.stderr.contains(sentence), "{bob:?}");
    ns.done(&["apply", "--as=alice", "-f", "-"], &grown).await?;
    ns.until_complete(1, "2Gi").await
}

pub(super) async fn new_claim_gets_the_staged_size(env: &World) -> anyhow::Result<()> {
    let of = |replicas, size: &str| Web::replicas(replicas).size(size).policy("OnClaimDelete");
    let ns = with_set(env, "new-claims", &of(1, "1Gi")).await?;
    ns.target(&of(1, "2Gi")).await?;
    ns.target(&of(2, "2Gi")).await?;
    ns.until_ready(2).await?;
    let claims = ns.claims().await?;
    let sizes: Vec<String> = claims
        .iter()
        .map(|claim| text(&claim["spec"]["resources"]["requests"]["storage"]))
        .collect();
    ensure!(sizes == ["1Gi", "2Gi"], "{claims:#?}");
    Ok(())
}

pub(super) async fn pod_is_replaced_when_its_claim_is_ready(env: &World) -> anyhow::Result<()> {
    let ns = with_set(env, "gate", &Web::replicas(2)).await?;
    let pods = ns.pods().await?;
    let begun = ns.mark().await?;
    // Paused, so that the controller is not faster than the StatefulSet controller.
    let target = Web::replicas(2).size("2Gi").image("2");
    ns.target(&target.annotated("paused", "true")).await?;
    let why = ns.until_denied("web-1").await?;
    let webhook = "admission webhook \"claim-rollout-pods.claim-rollout.io\" denied the request: claim-rollout: ";
    ensure!(why.contains(webhook), "{why}");
    ensure!(ns.pods().await? == pods, "a Pod was replaced");
    ns.target(&target).await?;
    ns.until_complete(2, "2Gi").await?;
    ns.until_updated(2).await?;
    ns.writes_since(begun)
        .await?
        .is_a_rollout(&["data-web-1", "data-web-0"], 2)
}

/// Whoever may patch Pods can write such managed fields. The StatefulSet controller still replaces and removes the Pods.
pub(super) async fn pod_with_deep_managed_fields_leaves_the_gate(env: &World) -> anyhow::Result<()> {
    let ns = with_set(env, "deep", &Web::replicas(2)).await?;
    let [_, nested] = managed_fields("v1");
    let patch = json!({"metadata": {"managedFields": nested}}).to_string();
    let deepen = async |pod: &str| ns.typed(&format!("patch {pod} --type=merge -p '{patch}'")).await;
    deepen("pod/web-0").await?;
    deepen("pod/web-1").await?;
    ns.target(&Web::replicas(2).image("2")).await?;
    ns.until_updated(2).await?;
    deepen("pod/web-1").await?;
    ns.typed("scale statefulset web --replicas=1").await?;
    ns.settled().await?;
    Ok(())
}

pub(super) async fn scale_down_names_the_deleted_claims(env: &World) -> anyhow::Result<()> {
    let retention = json!({"persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete"}});
    let ns = with_set(env, "retention", &Web::replicas(2).spec(&retention)).await?;
    let warning = ns
        .typed("scale statefulset web --replicas=1 --dry-run=server")
        .await?
        .stderr;
    ensure!(
        warning.contains("Warning: ") && warning.contains("data-web-1") && !warning.contains("data-web-0"),
        "{warning}"
    );
    Ok(())
}

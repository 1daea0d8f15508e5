//! Requests of users, and their results.

use anyhow::ensure;

use super::Stage;
use crate::scenarios::scene::{Scene, manifest, text, with_class, with_image, with_spec};

/// A StatefulSet with this many replicas of 1Gi, all Ready.
async fn with_set<'a>(stage: &'a Stage, namespace: &str, manifest: &str) -> anyhow::Result<Scene<'a>> {
    let scene = stage.scene(namespace).await?;
    scene.target(manifest).await?;
    scene.settled().await?;
    Ok(scene)
}

pub(super) async fn grown_set_grows_its_claims_with_a_warning(stage: &Stage) -> anyhow::Result<()> {
    let scene = with_set(stage, "grows", &manifest(2, "1Gi")).await?;
    let begun = scene.mark().await?;
    let warning = scene.apply(2, "2Gi").await?.stderr;
    ensure!(warning.contains("Warning: claim-rollout: "), "{warning}");
    scene.until_complete(2, "2Gi").await?;
    let written = scene.writes_since(begun).await?;
    written.is_a_rollout(&["data-web-1", "data-web-0"], 0)
}

pub(super) async fn disallowed_change_is_denied_with_a_reason(stage: &Stage) -> anyhow::Result<()> {
    let scene = with_set(stage, "refused", &manifest(1, "1Gi")).await?;
    let before = scene.set().await?;
    for target in [with_class(&manifest(1, "1Gi"), "other"), manifest(1, "512Mi")] {
        let output = scene.kubectl(&["apply", "-f", "-"], &target).await?;
        let webhook = "admission webhook \"claim-rollout.claim-rollout.io\" denied the request: ";
        ensure!(
            !output.success && output.stderr.contains(webhook),
            "{target}: {output:?}"
        );
    }
    // The webhook looks up objects too: the attributes class does not exist yet.
    let bronze = manifest(1, "1Gi").replace(
        "      storageClassName: expandable\n",
        "      storageClassName: expandable\n      volumeAttributesClassName: bronze\n",
    );
    let warning = scene
        .done(&["apply", "--dry-run=server", "-f", "-"], &bronze)
        .await?
        .stderr;
    ensure!(
        warning.contains("data-web-0: volume attributes class bronze does not exist"),
        "{warning}"
    );
    ensure!(scene.set().await? == before, "the set was written");
    Ok(())
}

pub(super) async fn user_without_claim_rights_is_denied(stage: &Stage) -> anyhow::Result<()> {
    let scene = with_set(stage, "two-users", &manifest(1, "1Gi")).await?;
    scene.give_rights_to_alice_and_bob().await?;
    let grown = manifest(1, "2Gi");
    let bob = scene.kubectl(&["apply", "--as=bob", "-f", "-"], &grown).await?;
    let sentence = "user bob cannot patch persistentvolumeclaims in namespace two-users";
    ensure!(!bob.success && bob.stderr.contains(sentence), "{bob:?}");
    scene.done(&["apply", "--as=alice", "-f", "-"], &grown).await?;
    scene.until_complete(1, "2Gi").await
}

pub(super) async fn new_claim_gets_the_staged_size(stage: &Stage) -> anyhow::Result<()> {
    let of = |replicas, size: &str| manifest(replicas, size).replace("InPlace", "OnClaimDelete");
    let scene = with_set(stage, "new-claims", &of(1, "1Gi")).await?;
    scene.target(&of(1, "2Gi")).await?;
    scene.target(&of(2, "2Gi")).await?;
    scene.until_ready(2).await?;
    let claims = scene.claims().await?;
    let sizes: Vec<String> = claims
        .iter()
        .map(|claim| text(&claim["spec"]["resources"]["requests"]["storage"]))
        .collect();
    ensure!(sizes == ["1Gi", "2Gi"], "{claims:#?}");
    Ok(())
}

pub(super) async fn pod_is_replaced_when_its_claim_is_ready(stage: &Stage) -> anyhow::Result<()> {
    let scene = with_set(stage, "gate", &manifest(2, "1Gi")).await?;
    let pods = scene.pods().await?;
    let begun = scene.mark().await?;
    // Paused, so that the controller is not faster than the StatefulSet controller.
    let target = with_image(&manifest(2, "2Gi"), "2");
    let annotation = "claim-rollout.io/update-policy: InPlace";
    let paused = target.replace(
        annotation,
        &format!("{annotation}\n    claim-rollout.io/paused: \"true\""),
    );
    scene.target(&paused).await?;
    let why = scene.until_denied("web-1").await?;
    let webhook = "admission webhook \"claim-rollout-pods.claim-rollout.io\" denied the request: claim-rollout: ";
    ensure!(why.contains(webhook), "{why}");
    ensure!(scene.pods().await? == pods, "a Pod was replaced");
    scene.target(&target).await?;
    scene.until_complete(2, "2Gi").await?;
    scene.until_updated(2).await?;
    scene
        .writes_since(begun)
        .await?
        .is_a_rollout(&["data-web-1", "data-web-0"], 2)
}

pub(super) async fn scale_down_names_the_deleted_claims(stage: &Stage) -> anyhow::Result<()> {
    let policy = "  persistentVolumeClaimRetentionPolicy: {whenScaled: Delete}";
    let scene = with_set(stage, "retention", &with_spec(&manifest(2, "1Gi"), policy)).await?;
    let warning = scene
        .done(&["scale", "statefulset", "web", "--replicas=1", "--dry-run=server"], "")
        .await?
        .stderr;
    ensure!(
        warning.contains("Warning: ") && warning.contains("data-web-1") && !warning.contains("data-web-0"),
        "{warning}"
    );
    Ok(())
}

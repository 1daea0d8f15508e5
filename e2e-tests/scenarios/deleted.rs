//! PVCs that are deleted while the controller decides about them.

use anyhow::{Context as _, ensure};
use serde_json::json;

use super::scene::{PATIENCE, Scene, Stage, text};
use crate::cluster::eventually;
use crate::installation::USER;

pub(super) async fn claim_deleted_between_read_and_write_is_not_recreated_by_us(stage: &Stage) -> anyhow::Result<()> {
    let scene = Scene::with_set(stage, "stopped-deleted", 3).await?;
    let old = scene.claims().await?[1]["metadata"]["uid"].clone();
    stage.barriers.hold_claim(&scene.namespace, "data-web-1");
    scene.apply(3, "2Gi").await?;
    stage
        .barriers
        .until_held(&scene.namespace)
        .await
        .with_context(|| scene.log())?;
    // The controller has decided, and its write is in progress.
    scene.done(&["delete", "pvc/data-web-1", "--wait=false"], "").await?;
    scene.done(&["delete", "pod/web-1", "--wait=false"], "").await?;
    let made = eventually("another claim", PATIENCE, async || {
        let claims = scene.claims().await?;
        Ok((claims.len() == 3 && claims[1]["metadata"]["uid"] != old).then_some(()))
    });
    made.await?;
    stage.barriers.open(&scene.namespace);
    scene.until_ready(3).await?;
    scene.until_complete(3, "2Gi").await?;

    let writes = scene.writes_of(USER).await?;
    let claims = writes.iter().filter(|entry| entry.resource == "persistentvolumeclaims");
    let claims: Vec<_> = claims.map(|entry| (entry.name.as_str(), entry.code)).collect();
    // The write for the old PVC found another one, or none. The new PVC is created from the desired template.
    let expected = [("data-web-2", 200), ("data-web-1", 409), ("data-web-0", 200)];
    ensure!(claims == expected, "{claims:?}");
    scene.writes_since(0).await?;
    let makers = stage.cluster.audit().await?;
    let creations = makers.iter().filter(|entry| {
        entry.namespace == scene.namespace && entry.resource == "persistentvolumeclaims" && entry.verb == "create"
    });
    for creation in creations {
        let maker = "system:serviceaccount:kube-system:statefulset-controller";
        ensure!(creation.user == maker, "{creation:?}");
    }
    Ok(())
}

pub(super) async fn apply_with_uid_of_another_claim_fails_in_the_api_server(stage: &Stage) -> anyhow::Result<()> {
    let scene = Scene::with_set(stage, "stale", 1).await?;
    let before = scene.claims().await?;
    let apply = |name: &str| {
        json!({
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "uid": "00000000-0000-4000-8000-000000000000"},
            "spec": {"resources": {"requests": {"storage": "2Gi"}}},
        })
    };
    let arguments = [
        "apply",
        "--server-side",
        "--force-conflicts",
        "--field-manager=claim-rollout",
        "-f",
        "-",
    ];
    // The first PVC exists with another uid; the second does not exist.
    let another = "metadata.uid: Invalid value: \"00000000-0000-4000-8000-000000000000\": field is immutable";
    let missing =
        "uid mismatch: the provided object specified uid 00000000-0000-4000-8000-000000000000, and no existing object";
    for (name, expected) in [("data-web-0", another), ("data-web-7", missing)] {
        for user in [USER, "admin"] {
            let group = if user == USER {
                "system:serviceaccounts"
            } else {
                "system:masters"
            };
            let who = ["--as", user, "--as-group", group];
            let output = scene
                .kubectl(&[&arguments[..], &who].concat(), &apply(name).to_string())
                .await?;
            ensure!(
                !output.success && output.stderr.contains(expected),
                "{name} as {user}: {output:?}"
            );
        }
    }
    let names = |claims: &[serde_json::Value]| -> Vec<String> {
        let parts = claims.iter().map(|claim| &claim["metadata"]);
        parts
            .map(|metadata| text(&metadata["name"]) + &text(&metadata["resourceVersion"]))
            .collect()
    };
    let after = scene.claims().await?;
    ensure!(names(&after) == names(&before), "{after:#?}");
    Ok(())
}

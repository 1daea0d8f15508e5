//! The findings of `drift`.

use anyhow::ensure;
use serde_json::{Value, json};

use super::stage::{FAULTS, KEPT, Stage, faulty};
use crate::cluster::Driver;
use crate::scenarios::scene::manifest;

const SIZE: &str = "spec.resources.requests.storage";

fn of_size(size: &str) -> Value {
    json!({"spec": {"resources": {"requests": {"storage": size}}}})
}

/// One row about the PVC of the StatefulSet.
async fn one(stage: &Stage, field: &str, wanted: &str, found: &str, note: &str) -> anyhow::Result<()> {
    stage
        .differs(FAULTS, &[["data-web-0", field, wanted, found, note]])
        .await
}

async fn even(stage: &Stage) -> anyhow::Result<()> {
    stage.until_even(&["-n", FAULTS]).await
}

pub(super) async fn drift_finds_differing_claims(stage: &mut Stage) -> anyhow::Result<()> {
    // A smaller size, a larger size, and a volume that lags.
    stage.make_anew(FAULTS, &faulty("2Gi")).await?;
    one(stage, SIZE, "2Gi", "1Gi", "no rollout brings it up").await?;
    stage.edit_claim(&of_size("2Gi")).await?;
    even(stage).await?;
    stage.edit_claim(&of_size("3Gi")).await?;
    one(stage, SIZE, "2Gi", "3Gi", "grown by somebody else").await?;
    stage.make_anew(FAULTS, &faulty("3Gi")).await?;
    even(stage).await?;
    stage.make_anew(FAULTS, &faulty("4Gi")).await?;
    stage.cluster.set_driver(&Driver {
        expand_error: Some("UNAVAILABLE"),
        ..Driver::default()
    })?;
    stage.edit_claim(&of_size("4Gi")).await?;
    one(stage, "status.capacity.storage", "4Gi", "3Gi", "").await?;
    stage.cluster.set_driver(&Driver::default())?;
    even(stage).await?;
    // Labels, annotations, and fields that cannot change.
    let claim = "persistentvolumeclaim/data-web-0";
    stage.faults(&["label", claim, "tier-"], "").await?;
    one(stage, "metadata.labels[tier]", "gold", "-", "no rollout").await?;
    stage.faults(&["label", claim, "tier=gold"], "").await?;
    stage
        .faults(&["annotate", "--overwrite", claim, "example.com/note=other"], "")
        .await?;
    one(
        stage,
        "metadata.annotations[example.com/note]",
        "kept",
        "other",
        "no rollout",
    )
    .await?;
    stage
        .faults(&["annotate", "--overwrite", claim, "example.com/note=kept"], "")
        .await?;
    even(stage).await?;
    stage
        .make_anew(FAULTS, &faulty("4Gi").replace("ReadWriteOnce", "ReadWriteMany"))
        .await?;
    let modes = ["[\"ReadWriteMany\"]", "[\"ReadWriteOnce\"]"];
    one(stage, "spec.accessModes", modes[0], modes[1], "cannot change in place").await?;
    stage.make_anew(FAULTS, &faulty("4Gi")).await?;
    even(stage).await?;
    if stage.cluster.modifies_volumes() {
        let silver = "      storageClassName: expandable\n      volumeAttributesClassName: silver\n";
        let silver = faulty("4Gi").replace("      storageClassName: expandable\n", silver);
        stage.make_anew(FAULTS, &silver).await?;
        one(stage, "spec.volumeAttributesClassName", "silver", "-", "no rollout").await?;
        stage
            .edit_claim(&json!({"spec": {"volumeAttributesClassName": "silver"}}))
            .await?;
        even(stage).await?;
    }
    Ok(())
}

pub(super) async fn drift_finds_missing_and_foreign_claims(stage: &mut Stage) -> anyhow::Result<()> {
    let claim = "persistentvolumeclaim/data-web-0";
    let selector = "label app is not the selector's";
    stage.faults(&["label", claim, "app-"], "").await?;
    one(stage, "metadata.labels[app]", "web", "-", selector).await?;
    stage.faults(&["label", claim, "app=web"], "").await?;
    even(stage).await?;

    stage.faults(&["create", "configmap", "another"], "").await?;
    let another = stage
        .faults(&["get", "configmap/another", "-o", "jsonpath={.metadata.uid}"], "")
        .await?;
    let owner = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "name": "another", "uid": another.stdout, "controller": true,
    });
    stage
        .edit_claim(&json!({"metadata": {"ownerReferences": [owner]}}))
        .await?;
    let controller = "owned by";
    one(
        stage,
        "metadata.ownerReferences",
        "StatefulSet web",
        "ConfigMap another",
        controller,
    )
    .await?;
    stage
        .edit_claim(&json!({"metadata": {"ownerReferences": null}}))
        .await?;
    even(stage).await?;

    let quota =
        "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: claims}\nspec: {hard: {persistentvolumeclaims: 1}}\n";
    stage.faults(&["apply", "-f", "-"], quota).await?;
    stage
        .faults(
            &[
                "wait",
                "--for=jsonpath={.status.used.persistentvolumeclaims}=1",
                "quota/claims",
            ],
            "",
        )
        .await?;
    stage.faults(&["scale", "statefulset/web", "--replicas=2"], "").await?;
    let missing = ["data-web-1", "metadata.name", "data-web-1", "-", "is made with the Pod"];
    stage.differs(FAULTS, &[missing]).await?;
    stage.faults(&["delete", "quota/claims"], "").await?;
    even(stage).await?;
    stage.faults(&["scale", "statefulset/web", "--replicas=1"], "").await?;

    stage.faults(&["delete", claim, "--wait=false"], "").await?;
    one(stage, "metadata.deletionTimestamp", "-", "set", "is being deleted").await?;
    stage.faults(&["delete", "pod/web-0"], "").await?;
    even(stage).await
}

pub(super) async fn drift_finds_staged_changes(stage: &mut Stage) -> anyhow::Result<()> {
    stage
        .faults(&["annotate", "statefulset/web", "claim-rollout.io/staged={}"], "")
        .await?;
    let change = [
        "-",
        "metadata.annotations[claim-rollout.io/staged]",
        "a staged change",
        "something else",
        "expected ",
    ];
    stage.differs(FAULTS, &[change]).await?;
    stage
        .faults(&["annotate", "statefulset/web", "claim-rollout.io/staged-"], "")
        .await?;
    even(stage).await?;

    stage
        .done(&["apply", "-n", KEPT, "-f", "-"], &manifest(2, "2Gi"))
        .await?;
    let field = format!("spec.volumeClaimTemplates[data].{SIZE}");
    stage
        .differs(KEPT, &[["-", &field, "2Gi", "1Gi", "staged, Complete"]])
        .await?;
    let all = stage.run(&["drift", "-A"]).await?;
    let rows: Vec<&str> = all.stdout.lines().collect();
    ensure!(
        rows.len() == 2 && rows[1].starts_with("kept ") && all.code == Some(0),
        "{all:?}"
    );
    ensure!(
        all.stderr == "looked at 2 StatefulSets: 1 with differences\n",
        "{all:?}"
    );
    // A staged change that is reached is no fault.
    stage.until_healthy().await?;
    stage.make_anew(KEPT, &manifest(2, "2Gi")).await?;
    stage.until_even(&["-n", KEPT, "web"]).await?;
    let nobody = stage.run(&["drift", "-n", KEPT, "nobody"]).await?;
    let expected = "error: expected a StatefulSet \"nobody\", but found none\n";
    ensure!(
        (nobody.code, nobody.stderr.as_str()) == (Some(1), expected),
        "{nobody:?}"
    );
    Ok(())
}

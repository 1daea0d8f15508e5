//! The findings of `drift`.

use anyhow::ensure;
use serde_json::{Value, json};

use super::examined::{Examined, FAULTS, KEPT, faulty};
use crate::world::Driver;
use crate::world::web::Web;

const SIZE: &str = "spec.resources.requests.storage";

fn of_size(size: &str) -> Value {
    json!({"spec": {"resources": {"requests": {"storage": size}}}})
}

/// One row about the PVC of the StatefulSet.
async fn one(env: &Examined, field: &str, wanted: &str, found: &str, note: &str) -> anyhow::Result<()> {
    env.differs(FAULTS, &[["data-web-0", field, wanted, found, note]]).await
}

async fn even(env: &Examined) -> anyhow::Result<()> {
    env.until_no_drift(&["-n", FAULTS]).await
}

pub(super) async fn drift_finds_differing_claims(env: &mut Examined) -> anyhow::Result<()> {
    // A smaller size, a larger size, and a volume that lags.
    env.recreate(FAULTS, &faulty("2Gi")).await?;
    one(env, SIZE, "2Gi", "1Gi", "no rollout will update it").await?;
    env.edit_claim(&of_size("2Gi")).await?;
    even(env).await?;
    env.edit_claim(&of_size("3Gi")).await?;
    one(env, SIZE, "2Gi", "3Gi", "grown by somebody else").await?;
    env.recreate(FAULTS, &faulty("3Gi")).await?;
    even(env).await?;
    env.recreate(FAULTS, &faulty("4Gi")).await?;
    env.world.cluster.set_driver(&Driver {
        expand_error: Some("UNAVAILABLE"),
        ..Driver::default()
    })?;
    env.edit_claim(&of_size("4Gi")).await?;
    one(env, "status.capacity.storage", "4Gi", "3Gi", "").await?;
    env.world.cluster.set_driver(&Driver::default())?;
    even(env).await?;
    // Labels, annotations, and fields that cannot change.
    let claim = "persistentvolumeclaim/data-web-0";
    env.faults(&["label", claim, "tier-"], "").await?;
    one(env, "metadata.labels[tier]", "gold", "-", "no rollout").await?;
    env.faults(&["label", claim, "tier=gold"], "").await?;
    env.faults(&["annotate", "--overwrite", claim, "example.com/note=other"], "")
        .await?;
    one(
        env,
        "metadata.annotations[example.com/note]",
        "kept",
        "other",
        "no rollout",
    )
    .await?;
    env.faults(&["annotate", "--overwrite", claim, "example.com/note=kept"], "")
        .await?;
    even(env).await?;
    let many = faulty("4Gi").template(&json!({"spec": {"accessModes": ["ReadWriteMany"]}}));
    env.recreate(FAULTS, &many).await?;
    let modes = ["[\"ReadWriteMany\"]", "[\"ReadWriteOnce\"]"];
    one(env, "spec.accessModes", modes[0], modes[1], "cannot change in place").await?;
    env.recreate(FAULTS, &faulty("4Gi")).await?;
    even(env).await?;
    if env.world.cluster.modifies_volumes() {
        env.recreate(FAULTS, &faulty("4Gi").attributes_class("silver")).await?;
        one(env, "spec.volumeAttributesClassName", "silver", "-", "no rollout").await?;
        env.edit_claim(&json!({"spec": {"volumeAttributesClassName": "silver"}}))
            .await?;
        even(env).await?;
    }
    Ok(())
}

pub(super) async fn drift_finds_missing_and_foreign_claims(env: &mut Examined) -> anyhow::Result<()> {
    let claim = "persistentvolumeclaim/data-web-0";
    let selector = "label app is not web, as in the selector; set it with kubectl label pvc";
    env.faults(&["label", claim, "app=db", "--overwrite"], "").await?;
    one(env, "metadata.labels[app]", "web", "db", selector).await?;
    // Without the label, its name shows whose it is.
    env.faults(&["label", claim, "app-"], "").await?;
    even(env).await?;
    env.faults(&["label", claim, "app=web"], "").await?;
    even(env).await?;

    env.faults(&["create", "configmap", "another"], "").await?;
    let another = env
        .faults(&["get", "configmap/another", "-o", "jsonpath={.metadata.uid}"], "")
        .await?;
    let owner = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "name": "another", "uid": another.stdout, "controller": true,
    });
    env.edit_claim(&json!({"metadata": {"ownerReferences": [owner]}}))
        .await?;
    let controller = "owned by";
    one(
        env,
        "metadata.ownerReferences",
        "StatefulSet web",
        "ConfigMap another",
        controller,
    )
    .await?;
    env.edit_claim(&json!({"metadata": {"ownerReferences": null}})).await?;
    even(env).await?;

    let quota =
        "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: claims}\nspec: {hard: {persistentvolumeclaims: 1}}\n";
    env.faults(&["apply", "-f", "-"], quota).await?;
    env.faults(
        &[
            "wait",
            "--for=jsonpath={.status.used.persistentvolumeclaims}=1",
            "quota/claims",
        ],
        "",
    )
    .await?;
    env.faults(&["scale", "statefulset/web", "--replicas=2"], "").await?;
    let missing = ["data-web-1", "metadata.name", "data-web-1", "-", "created with the Pod"];
    env.differs(FAULTS, &[missing]).await?;
    env.faults(&["delete", "quota/claims"], "").await?;
    even(env).await?;
    env.faults(&["scale", "statefulset/web", "--replicas=1"], "").await?;

    env.faults(&["delete", claim, "--wait=false"], "").await?;
    one(env, "metadata.deletionTimestamp", "-", "set", "is being deleted").await?;
    env.faults(&["delete", "pod/web-0", "--wait=false"], "").await?;
    even(env).await
}

pub(super) async fn drift_finds_staged_changes(env: &mut Examined) -> anyhow::Result<()> {
    env.faults(&["annotate", "statefulset/web", "claim-rollout.io/staged={}"], "")
        .await?;
    let change = [
        "-",
        "metadata.annotations[claim-rollout.io/staged]",
        "a staged change",
        "an invalid value",
        "expected ",
    ];
    env.differs(FAULTS, &[change]).await?;
    env.faults(&["annotate", "statefulset/web", "claim-rollout.io/staged-"], "")
        .await?;
    even(env).await?;

    env.done(&["apply", "-n", KEPT, "-f", "-"], &Web::replicas(2).size("2Gi"))
        .await?;
    let field = format!("spec.volumeClaimTemplates[data].{SIZE}");
    env.differs(KEPT, &[["-", &field, "2Gi", "1Gi", "staged, Complete"]])
        .await?;
    let all = env.run(&["drift", "-A"]).await?;
    let rows: Vec<&str> = all.stdout.lines().collect();
    ensure!(
        rows.len() == 2 && rows[1].starts_with("kept ") && all.code == Some(0),
        "{all:?}"
    );
    ensure!(all.stderr == "compared 2 StatefulSets: 1 with differences\n", "{all:?}");
    // A staged change that is reached is no fault.
    env.until_healthy().await?;
    env.recreate(KEPT, &Web::replicas(2).size("2Gi")).await?;
    env.until_no_drift(&["-n", KEPT, "web"]).await?;
    let nobody = env.run(&["drift", "-n", KEPT, "nobody"]).await?;
    let expected = "error: StatefulSet \"nobody\" not found\n";
    ensure!(
        (nobody.code, nobody.stderr.as_str()) == (Some(1), expected),
        "{nobody:?}"
    );
    Ok(())
}

//! Faults of StatefulSets, PVCs and rollouts that the doctor finds.

use serde_json::json;

use super::stage::{FAULTS, Stage, faulty};

const SET: &str = "statefulset.apps/faults/web";

pub(super) async fn annotations(stage: &mut Stage) -> anyhow::Result<()> {
    for annotation in [
        "claim-rollout.io/sync=Sometimes",
        "claim-rollout.io/paused=yes",
        "claim-rollout.io/staged={}",
    ] {
        stage.faults(&["annotate", "statefulset/web", annotation], "").await?;
        stage.fixed(("Error", SET)).await?;
    }
    let unknown = "claim-rollout.io/update-policy=Inplace";
    stage
        .faults(&["annotate", "--overwrite", "statefulset/web", unknown], "")
        .await?;
    stage.fixed(("Error", SET)).await?;
    let in_place = "claim-rollout.io/update-policy=InPlace";
    stage
        .faults(&["annotate", "statefulset/web", in_place], "")
        .await
        .map(drop)
}

pub(super) async fn unexpandable_storage_class_is_found(stage: &mut Stage) -> anyhow::Result<()> {
    let fixed = faulty("1Gi")
        .replace("web", "fixed")
        .replace("storageClassName: expandable", "storageClassName: fixed");
    stage.faults(&["apply", "-f", "-"], &fixed).await?;
    stage.fixed(("Warning", "storageclass/fixed")).await?;
    stage.faults(&["delete", "statefulset/fixed"], "").await.map(drop)
}

pub(super) async fn lagging_claim_is_found(stage: &mut Stage) -> anyhow::Result<()> {
    stage.make_anew(FAULTS, &faulty("5Gi")).await?;
    stage
        .faults(&["label", "persistentvolumeclaim/data-web-0", "tier-"], "")
        .await?;
    stage
        .fixed(("Warning", "persistentvolumeclaim/faults/data-web-0"))
        .await?;
    stage.until_even(&["-n", FAULTS]).await
}

pub(super) async fn stalled_rollout_is_found(stage: &mut Stage) -> anyhow::Result<()> {
    let rollout = json!({
        "apiVersion": "claim-rollout.io/v1alpha1", "kind": "ClaimRollout", "metadata": {"name": "web"},
        "spec": {
            "setRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "none"},
            "revision": "r", "templates": [], "updatePolicy": "InPlace", "sync": "LockStep", "replaceSet": "Never",
        },
    });
    stage.faults(&["create", "-f", "-"], &rollout.to_string()).await?;
    let stalled = json!({"status": {"conditions": [{
        "type": "Stalled", "status": "True", "reason": "ClaimRefused", "message": "exceeded quota",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]}})
    .to_string();
    let patch = [
        "patch",
        "claimrollout/web",
        "--subresource=status",
        "--type=merge",
        "-p",
        &stalled,
    ];
    stage.faults(&patch, "").await?;
    stage
        .diagnosed(("Error", "claimrollout.claim-rollout.io/faults/web"))
        .await?;
    stage.faults(&["delete", "claimrollout/web"], "").await?;
    stage.until_healthy().await
}

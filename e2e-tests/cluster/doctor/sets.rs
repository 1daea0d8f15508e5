//! Faults of StatefulSets, PVCs and rollouts that the doctor finds.

use serde_json::json;

use super::examined::{Examined, FAULTS, faulty};

const SET: &str = "statefulset.apps/faults/web";

pub(super) async fn annotations(env: &mut Examined) -> anyhow::Result<()> {
    for annotation in [
        "claim-rollout.io/sync=Sometimes",
        "claim-rollout.io/paused=yes",
        "claim-rollout.io/staged={}",
    ] {
        env.faults(&["annotate", "statefulset/web", annotation], "").await?;
        env.fixed(("Error", SET)).await?;
    }
    let unknown = "claim-rollout.io/update-policy=Inplace";
    env.faults(&["annotate", "--overwrite", "statefulset/web", unknown], "")
        .await?;
    env.fixed(("Error", SET)).await?;
    let in_place = "claim-rollout.io/update-policy=InPlace";
    env.faults(&["annotate", "statefulset/web", in_place], "")
        .await
        .map(drop)
}

pub(super) async fn unexpandable_storage_class_is_found(env: &mut Examined) -> anyhow::Result<()> {
    let fixed = faulty("1Gi").named("fixed").class("fixed");
    env.faults(&["apply", "-f", "-"], &fixed).await?;
    env.fixed(("Warning", "storageclass/fixed")).await?;
    env.faults(&["delete", "statefulset/fixed"], "").await.map(drop)
}

pub(super) async fn lagging_claim_is_found(env: &mut Examined) -> anyhow::Result<()> {
    env.recreate(FAULTS, &faulty("5Gi")).await?;
    env.faults(&["label", "persistentvolumeclaim/data-web-0", "tier-"], "")
        .await?;
    env.fixed(("Warning", "persistentvolumeclaim/faults/data-web-0"))
        .await?;
    env.until_no_drift(&["-n", FAULTS]).await
}

pub(super) async fn stalled_rollout_is_found(env: &mut Examined) -> anyhow::Result<()> {
    let rollout = json!({
        "apiVersion": "claim-rollout.io/v1alpha1", "kind": "ClaimRollout", "metadata": {"name": "web"},
        "spec": {
            "setRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "none"},
            "revision": "r", "templates": [], "updatePolicy": "InPlace", "sync": "LockStep", "replaceSet": "Never",
        },
    });
    env.faults(&["create", "-f", "-"], &rollout.to_string()).await?;
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
    env.faults(&patch, "").await?;
    env.diagnosed(("Error", "claimrollout.claim-rollout.io/faults/web"))
        .await?;
    env.faults(&["delete", "claimrollout/web"], "").await?;
    env.until_healthy().await
}

//! Faults of StatefulSets, PVCs and rollouts that the doctor finds.

use super::examined::{Examined, FAULTS, faulty};

const SET: &str = "statefulset.apps/faults/web";

pub(super) async fn annotations(env: &mut Examined) -> anyhow::Result<()> {
    for annotation in ["sync=Sometimes", "staged={}"] {
        env.faults(
            &["annotate", "statefulset/web", &format!("claim-rollout.io/{annotation}")],
            "",
        )
        .await?;
        env.fixed(("Error", SET)).await?;
    }
    Ok(())
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

//! `updateStrategy: OnDelete`: Pods are deleted by hand, and their PVCs follow.

use std::time::Duration;

use anyhow::ensure;
use serde_json::json;

use crate::world::World;
use crate::world::web::Web;

fn of(size: &str) -> Web {
    let web = Web::replicas(3).size(size);
    web.spec(&json!({"updateStrategy": {"type": "OnDelete"}}))
}

pub(super) async fn claim_follows_only_after_its_pod_is_deleted_by_hand(env: &World) -> anyhow::Result<()> {
    let ns = env.with_web("on-delete", &of("1Gi")).await?;
    let begun = ns.mark().await?;
    let output = ns.target(&of("2Gi").image("2")).await?;
    ensure!(output.stderr.contains("staged data 1Gi -> 2Gi"), "{output:?}");
    let mut so_far = Vec::new();
    // In any order.
    for ordinal in [1, 2, 0] {
        ns.until_reported("a Pod to be deleted", |rollout| {
            let status = &rollout["status"];
            status["conditions"][1]["reason"] == "OnDelete" && status["readyReplicas"] == so_far.len()
        })
        .await?;
        let count = ns.writes_since(begun).await?.count();
        ensure!(count.claims == so_far && count.changes == 0, "{count:?}");
        if so_far.is_empty() {
            // A Pod that is created in the second in which the staged change was first seen could be an older one.
            tokio::time::sleep(Duration::from_millis(1100)).await;
        }
        ns.delete_pods(&[&format!("web-{ordinal}")]).await?;
        so_far.push(format!("data-web-{ordinal}"));
    }
    ns.until_complete(3, "2Gi").await?;
    ns.until_updated(3).await?;
    let written = ns.writes_since(begun).await?;
    written.is_a_rollout(&["data-web-1", "data-web-2", "data-web-0"], 0)
}

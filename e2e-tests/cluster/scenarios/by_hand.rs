//! PVCs that somebody made before the StatefulSet, without the labels of its selector.

use anyhow::ensure;
use serde_json::{Value, json};

use crate::world::World;
use crate::world::namespace::condition;
use crate::world::web::Web;

/// A PVC as the template asks for it, with these labels.
fn made_by_hand(name: &str, labels: &Value) -> String {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "labels": labels},
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": "expandable",
            "resources": {"requests": {"storage": "1Gi"}},
        },
    })
    .to_string()
}

/// One has no label of the selector, as a restored one, and one has another value of it, as after a selector was changed.
pub(super) async fn claims_without_the_selectors_labels_keep_no_pod(env: &World) -> anyhow::Result<()> {
    let mut ns = env.namespace("by-hand").await?;
    let labels = [json!({}), json!({"app": "web-before", "team": "storage"})];
    for (name, labels) in ["data-web-2", "data-web-1"].iter().zip(&labels) {
        ns.target(&made_by_hand(name, labels)).await?;
    }
    ns.start_controller(env, &[]).await?;
    ns.target(&Web::replicas(3)).await?;
    ns.settled().await?;
    let begun = ns.mark().await?;

    let output = ns.target(&Web::replicas(3).size("2Gi").image("2")).await?;
    let warnings = &output.stderr;
    ensure!(
        warnings.contains("3 PVCs will be updated in place")
            && warnings.contains("data-web-1: label app is not web, as in the selector")
            && !warnings.contains("data-web-2"),
        "{output:?}"
    );
    ns.until_complete(3, "2Gi").await?;
    let set = ns.settled().await?;
    ensure!(set["status"]["updatedReplicas"] == 3, "{set:#}");
    let written = ns.writes_since(begun).await?;
    written.is_a_rollout(&["data-web-2", "data-web-1", "data-web-0"], 3)?;
    written.pods_follow_their_claims("web", &["data"], &[2, 1, 0])?;
    for entry in written.states("claimrollouts", "web").values() {
        let rollout = entry.response.value();
        ensure!(condition(&rollout, "Stalled") != "True", "{rollout:#}");
    }
    let events = ns.events().await?;
    ensure!(!events.contains_key("ClaimForeign"), "{events:?}");
    for (claim, expected) in ns.claims().await?.iter().rev().zip(&labels) {
        let mut found = claim["metadata"]["labels"].clone();
        if let Some(found) = found.as_object_mut() {
            found.remove("claim-rollout.io/revision");
        }
        ensure!(found == *expected, "the labels of others stay: {claim:#}");
    }
    Ok(())
}

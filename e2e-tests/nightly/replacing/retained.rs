//! `whenDeleted: Delete`, and PVCs of a scale-down that have no Pod any more.

use anyhow::ensure;
use serde_json::{Value, json};

use crate::cluster::replacing::kept::{Before, until_reported};
use crate::cluster::replacing::trial::{prepare_with, replaced, until_replaced};
use crate::world::namespace::{TestNamespace, text};
use crate::world::web::Web;
use crate::world::written::Written;
use crate::world::{Entry, World};

fn owner(claim: &Value) -> String {
    text(&claim["metadata"]["ownerReferences"][0]["uid"])
}

/// A StatefulSet whose PVCs depend on it.
fn retained(replicas: u32, size: &str) -> Web {
    let policy = json!({"whenDeleted": "Delete", "whenScaled": "Retain"});
    replaced(replicas, size).spec(&json!({"persistentVolumeClaimRetentionPolicy": policy}))
}

/// Waits until the PVCs have these owners; empty for none.
async fn until_owned_by(ns: &TestNamespace<'_>, owners: &[&str]) -> anyhow::Result<()> {
    let are_owned = |claims: &[Value]| claims.iter().map(owner).collect::<Vec<_>>() == owners;
    ns.until_all("the owners of the PVCs", "pvc", are_owned).await.map(drop)
}

pub(super) async fn retention_is_guarded_and_claims_without_pods_stay(env: &World) -> anyhow::Result<()> {
    let ns = prepare_with(env, "retained", &retained(3, "1Gi")).await?;
    let uid = |set: &Value| text(&set["metadata"]["uid"]);
    let old = uid(&ns.set().await?);
    ns.target(&retained(2, "1Gi")).await?;
    ns.settled().await?;
    // The PVC of the third replica has no Pod any more, and is owned by the StatefulSet.
    until_owned_by(&ns, &[&old, &old, &old]).await?;

    let mark = ns.mark().await?;
    ns.target(&retained(2, "2Gi")).await?;
    let before = ns.set().await?;
    let pods = ns.pods().await?;
    // Once it is replaced, nothing would grow the PVC of the third replica.
    let message = until_reported(&ns, "Refused", "ClaimOutdated").await?;
    ensure!(message.contains("data-web-2"), "{message}");
    let larger = r#"{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}"#;
    ns.typed(&format!("patch pvc data-web-2 -p '{larger}'")).await?;
    let set = until_replaced(&ns, &before, "2Gi").await?;
    let new = uid(&set);
    ensure!(ns.pods().await? == pods, "Pods restarted");
    let policy = "/spec/persistentVolumeClaimRetentionPolicy";
    ensure!(set.pointer(policy) == before.pointer(policy), "{set:#}");
    until_owned_by(&ns, &[&new, &new, ""]).await?;

    let written = Written::new(ns.writes().await?.split_off(mark), 0);
    // While the old one was deleted, nothing depended on it.
    let is_stored = |entry: &&Entry| {
        let is_tried = entry.request.value()["dryRun"].is_array();
        entry.resource == "statefulsets" && entry.succeeded() && !is_tried
    };
    let states = written.all.iter().filter(is_stored).map(|entry| entry.response.value());
    // The garbage collector is answered with the metadata only.
    let deleted = |set: &Value| uid(set) == old && set["metadata"]["deletionTimestamp"].is_string();
    let deleted: Vec<Value> = states
        .filter(|set| deleted(set) && set["kind"] == "StatefulSet")
        .collect();
    ensure!(!deleted.is_empty(), "{written:#?}");
    for set in deleted {
        let policy = &set["spec"]["persistentVolumeClaimRetentionPolicy"]["whenDeleted"];
        ensure!(policy == "Retain", "{set:#}");
    }
    // The old one lost each PVC once, and never got one back.
    for (name, expected) in [
        ("data-web-0", &[&*old, "", &new][..]),
        ("data-web-1", &[&old, "", &new]),
        ("data-web-2", &[&old, ""]),
    ] {
        let states = written.states("persistentvolumeclaims", name);
        let mut owners: Vec<String> = states.values().map(|entry| owner(&entry.response.value())).collect();
        owners.dedup();
        ensure!(owners == expected, "{name}: {owners:?}");
    }

    // A replica that comes back finds its PVC, and the policy holds for all of them.
    let kept = Before::of(&ns).await?;
    ns.typed("scale statefulset web --replicas=3").await?;
    ns.settled().await?;
    until_owned_by(&ns, &[&new, &new, &new]).await?;
    kept.keeps_claims(&ns).await?;
    ns.typed("delete statefulset web").await?;
    until_owned_by(&ns, &[]).await
}

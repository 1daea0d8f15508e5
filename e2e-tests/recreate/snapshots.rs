//! VolumeSnapshots. No snapshot controller runs: the test writes the status as it does
//! (`pkg/common-controller/snapshot_controller.go` of kubernetes-csi/external-snapshotter, `updateSnapshotStatus`).

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::Environment;
use super::world::{OTHER, anew, annotated, prepare, stays, steps_of, until, until_complete};
use crate::cluster::{EXPANDABLE, eventually};
use crate::scenarios::namespace::{PATIENCE, TestNamespace};

/// The definition of VolumeSnapshots, without its validation.
fn definition() -> Value {
    let any = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {
            "name": "volumesnapshots.snapshot.storage.k8s.io",
            "annotations": {"api-approved.kubernetes.io": "https://github.com/kubernetes-csi/external-snapshotter/pull/814"},
        },
        "spec": {
            "group": "snapshot.storage.k8s.io", "scope": "Namespaced",
            "names": {"kind": "VolumeSnapshot", "listKind": "VolumeSnapshotList", "plural": "volumesnapshots", "singular": "volumesnapshot"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": any, "status": any}}},
            }],
        },
    })
}

/// All VolumeSnapshots.
async fn snapshots(ns: &TestNamespace<'_>) -> anyhow::Result<Vec<Value>> {
    ns.all("snapshot.storage.k8s.io", "v1", "VolumeSnapshot").await
}

/// Waits for the VolumeSnapshot of the PVC.
async fn until_taken(ns: &TestNamespace<'_>, claim: &str) -> anyhow::Result<Value> {
    let what = format!("a snapshot of {claim}");
    let taken = eventually(&what, PATIENCE, async || {
        let all = snapshots(ns).await?;
        Ok(all
            .into_iter()
            .find(|one| one["spec"]["source"]["persistentVolumeClaimName"] == claim))
    });
    taken.await.with_context(|| ns.log())
}

fn is_of_the_claim(taken: &Value, name: &str, revision: &Value) -> anyhow::Result<()> {
    let metadata = &taken["metadata"];
    ensure!(metadata["name"] == name, "{taken:#}");
    ensure!(
        metadata["labels"]["claim-rollout.io/revision"] == *revision,
        "{taken:#}"
    );
    ensure!(metadata["annotations"]["claim-rollout.io/of-set"] == "web", "{taken:#}");
    ensure!(taken["spec"]["volumeSnapshotClassName"] == "daily", "{taken:#}");
    Ok(())
}

async fn write_status(ns: &TestNamespace<'_>, snapshot: &Value, status: &Value) -> anyhow::Result<()> {
    let name = snapshot["metadata"]["name"].as_str().context("a name")?;
    let status = json!({"status": status}).to_string();
    let patch = ["--subresource=status", "--type=merge", "--patch", &status];
    ns.done(&[&["patch", "volumesnapshot", name][..], &patch].concat(), "")
        .await?;
    Ok(())
}

pub(super) async fn nothing_is_deleted_before_its_snapshot_is_ready(env: &Environment) -> anyhow::Result<()> {
    let ns = prepare(env, "snapshots", &anew(2, EXPANDABLE, "1Gi")).await?;
    let uids: Vec<Value> = ns
        .claims()
        .await?
        .into_iter()
        .map(|mut claim| claim["metadata"]["uid"].take())
        .collect();
    ns.target(&annotated(&anew(2, OTHER, "1Gi"), "recreate-snapshot: daily"))
        .await?;
    until(
        &ns,
        "ReCreateStopped",
        "the cluster has no VolumeSnapshots (snapshot.storage.k8s.io/v1)",
    )
    .await?;
    stays(&ns, &[]).await?;

    ns.target(&definition().to_string()).await?;
    let served = "--for=condition=Established";
    let crd = "crd/volumesnapshots.snapshot.storage.k8s.io";
    ns.done(&["wait", "--timeout=120s", served, crd], "").await?;
    let revision = ns.staged_change().await?["revision"].clone();
    for (ordinal, steps) in [(1, &[][..]), (0, &["delete data-web-1", "evict web-1"])] {
        let claim = format!("data-web-{ordinal}");
        let taken = until_taken(&ns, &claim).await?;
        let name = format!(
            "{}-{}",
            uids[ordinal].as_str().unwrap_or_default(),
            revision.as_str().unwrap_or_default()
        );
        is_of_the_claim(&taken, &name, &revision)?;
        let waits = format!("{claim} waits for VolumeSnapshot {name}, which is not ready");
        until(&ns, "RollingOut", &waits).await?;
        stays(&ns, steps).await?;
        let failed = json!({"readyToUse": false, "error": {"message": "no space", "time": "2026-01-01T00:00:00Z"}});
        write_status(&ns, &taken, &failed).await?;
        let message = format!("{claim} is not deleted: VolumeSnapshot {name} has an error: no space");
        until(&ns, "ReCreateStopped", &message).await?;
        stays(&ns, steps).await?;
        let ready = json!({
            "boundVolumeSnapshotContentName": "content", "creationTime": "2026-01-01T00:00:00Z", "readyToUse": true,
            "restoreSize": "1Gi", "error": null,
        });
        write_status(&ns, &taken, &ready).await?;
    }
    until_complete(&ns, 2, OTHER, "1Gi").await?;
    let steps = steps_of(&ns.writes_since(0).await?);
    ensure!(
        steps == ["delete data-web-1", "evict web-1", "delete data-web-0", "evict web-0"],
        "{steps:?}"
    );
    let left = snapshots(&ns).await?;
    ensure!(left.len() == 2, "{left:#?}");
    Ok(())
}

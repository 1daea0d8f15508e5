//! VolumeSnapshots. No snapshot controller runs: the test writes the status as it does
//! (`pkg/common-controller/snapshot_controller.go` of kubernetes-csi/external-snapshotter, `updateSnapshotStatus`).

use anyhow::{Context as _, ensure};
use claim_rollout::api::time;
use claim_rollout::templates::keys;
use serde_json::{Value, json};

use super::trial::{OTHER, anew, prepare, seconds, stays, steps_of, until_complete};
use crate::world::namespace::{TestNamespace, label, text};
use crate::world::{EXPANDABLE, World};

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

fn is_of_the_claim(taken: &Value, claim: &str, name: &str, revision: &Value) -> anyhow::Result<()> {
    let metadata = &taken["metadata"];
    ensure!(metadata["name"] == name, "{taken:#}");
    ensure!(
        metadata["labels"]["claim-rollout.io/revision"] == *revision,
        "{taken:#}"
    );
    let of = json!({"claim-rollout.io/of-set": "web", "claim-rollout.io/of-claim": claim});
    ensure!(metadata["annotations"] == of, "{taken:#}");
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

/// Now, `ago` seconds earlier.
fn time(ago: u64) -> anyhow::Result<String> {
    time::write(seconds()? - ago).context("a time")
}

/// The status of a VolumeSnapshot that is ready.
fn ready(taken: &str) -> Value {
    json!({
        "boundVolumeSnapshotContentName": "content", "creationTime": taken, "readyToUse": true,
        "restoreSize": "1Gi", "error": null,
    })
}

/// Waits for the VolumeSnapshot of this name.
async fn until_exists(ns: &TestNamespace<'_>, name: &str) -> anyhow::Result<Value> {
    ns.until("a snapshot", &format!("volumesnapshot/{name}"), |taken| {
        !taken.is_null()
    })
    .await
}

/// Waits until the API server serves VolumeSnapshots.
async fn serve(ns: &TestNamespace<'_>) -> anyhow::Result<()> {
    ns.target(&definition().to_string()).await?;
    let crd = "crd/volumesnapshots.snapshot.storage.k8s.io";
    ns.typed(&format!("wait --timeout=120s --for=condition=Established {crd}"))
        .await?;
    Ok(())
}

/// The cluster does not serve VolumeSnapshots at first. The change is withdrawn while the VolumeSnapshot is taken, and
/// staged again much later. What was written in between is not in it.
pub(super) async fn snapshot_of_an_earlier_staging_does_not_count(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "snapshots-again", &anew(1, EXPANDABLE, "1Gi")).await?;
    let wanted = anew(1, OTHER, "1Gi").annotated("recreate-snapshot", "daily");
    ns.target(&wanted).await?;
    let missing = "the cluster has no VolumeSnapshots (snapshot.storage.k8s.io/v1)";
    ns.until_reason("ReCreateStopped", missing).await?;
    stays(&ns, &[]).await?;
    serve(&ns).await?;
    let taken = ns.until_all("a snapshot", "volumesnapshot", |all| all.len() == 1);
    let earlier = taken.await?.remove(0);
    ns.target(&anew(1, EXPANDABLE, "1Gi")).await?;
    ns.until("the withdrawal", "statefulset/web", |set| {
        set["metadata"]["annotations"][keys::STAGED_AT].is_null()
    })
    .await?;
    write_status(&ns, &earlier, &ready(&time(86_400)?)).await?;
    ns.target(&wanted).await?;
    let claim = ns.claims().await?[0].clone();
    let change = ns.staged_change().await?;
    let name = |number| format!("{}-{}-{number}", text(&claim["metadata"]["uid"]), label(&change));
    let first = until_exists(&ns, &name(1)).await?;
    is_of_the_claim(&first, "data-web-0", &name(1), &change["revision"])?;
    ensure!(first["metadata"]["name"] != earlier["metadata"]["name"], "{first:#}");
    stays(&ns, &[]).await?;
    // One of another class does not count either.
    let class = json!({"spec": {"volumeSnapshotClassName": "weekly"}}).to_string();
    let patch = ["patch", "volumesnapshot", &name(1), "--type=merge", "--patch", &class];
    ns.done(&patch, "").await?;
    write_status(&ns, &first, &ready(&time(0)?)).await?;
    let second = until_exists(&ns, &name(2)).await?;
    stays(&ns, &[]).await?;
    write_status(&ns, &second, &ready(&time(0)?)).await?;
    until_complete(&ns, 1, OTHER, "1Gi").await?;
    let steps = steps_of(&ns.writes_since(0).await?);
    ensure!(steps == ["delete data-web-0", "evict web-0"], "{steps:?}");
    ensure!(snapshots(&ns).await?.len() == 3, "no other snapshot was made");
    Ok(())
}

//! `volumeAttributesClassName`.

use std::time::Duration;

use anyhow::ensure;
use serde_json::{Value, json};

use crate::world::World;
use crate::world::namespace::{TestNamespace, condition, text};
use crate::world::web::Web;

pub(super) async fn class_and_size_in_one_apply_take_one_patch_per_claim(env: &World) -> anyhow::Result<()> {
    if !env.cluster.modifies_volumes() {
        return Ok(());
    }
    let ns = env.with_set("attributes", 2).await?;
    let pods = ns.pods().await?;
    let of = |size: &str, class: &str| Web::replicas(2).size(size).attributes_class(class);
    for (size, class) in [("2Gi", "silver"), ("2Gi", "gold"), ("3Gi", "silver")] {
        let begun = ns.mark().await?;
        ns.target(&of(size, class)).await?;
        ns.until_complete(2, size).await?;
        for claim in ns.claims().await? {
            let current = &claim["status"]["currentVolumeAttributesClassName"];
            ensure!(*current == class, "{claim:#}");
        }
        let written = ns.writes_since(begun).await?;
        let claims = ["data-web-1", "data-web-0"];
        written.claims_follow_one_another(&claims)?;
        written.is_a_rollout(&claims, 0)?;
        for entry in written
            .ours()
            .filter(|entry| entry.resource == "persistentvolumeclaims")
        {
            let expected = json!({
                "resources": {"requests": {"storage": size}}, "volumeAttributesClassName": class,
            });
            ensure!(entry.request.value()["spec"] == expected, "{:#}", entry.request.value());
        }
    }
    ensure!(ns.pods().await? == pods, "Pods restarted");
    Ok(())
}

/// What external-resizer 1.14 and older writes for each attempt (`pkg/modifycontroller/modify_volume.go`): the status
/// stays, and each of the two conditions replaces the other (`MergeModifyVolumeConditionsOfPVC`).
const ATTEMPT: [(&str, &str); 2] = [
    ("ModifyingVolume", "ModifyVolume operation in progress."),
    (
        "ModifyVolumeError",
        "ModifyVolume failed with error: rpc error: code = Internal desc = no. Waiting for retry.",
    ),
];

/// A class, and volumes for the PVCs of two replicas, of a driver that nothing runs for: the test writes the status.
async fn make_volumes(ns: &TestNamespace<'_>) -> anyhow::Result<()> {
    let name = &ns.namespace;
    let driver = format!("{name}.csi.claim-rollout.io");
    let metadata = json!({"name": name});
    let mut objects = vec![
        json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver", "metadata": {"name": driver},
            "spec": {"attachRequired": false},
        }),
        json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": metadata,
            "provisioner": driver, "allowVolumeExpansion": true,
        }),
        json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttributesClass", "metadata": metadata,
            "driverName": driver, "parameters": {"tier": name},
        }),
    ];
    for claim in ["data-web-0", "data-web-1"] {
        objects.push(json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": format!("{name}-{claim}")},
            "spec": {
                "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "storageClassName": name,
                "persistentVolumeReclaimPolicy": "Retain", "claimRef": {"namespace": name, "name": claim},
                "csi": {"driver": driver, "volumeHandle": claim},
            },
        }));
    }
    for object in objects {
        ns.target(&object).await?;
    }
    Ok(())
}

/// The driver fails, and the resizer tries again. Each condition is written when the previous one was reported, so that
/// none is missed; the last condition of each attempt is waited for.
async fn attempt(ns: &TestNamespace<'_>, claim: &str) -> anyhow::Result<Value> {
    let mut rollout = Value::Null;
    for (kind, message) in ATTEMPT {
        let status = json!({
            "modifyVolumeStatus": {"status": "InProgress", "targetVolumeAttributesClassName": ns.namespace},
            "conditions": [{"type": kind, "status": "True", "message": message}],
        });
        ns.write_status(claim, &status).await?;
        let is_reported = |rollout: &Value| {
            let first = &rollout["status"]["claims"][0];
            first["name"] == claim && first["state"] == "Modifying" && first["reason"] == kind
        };
        rollout = ns.until_reported(kind, is_reported).await?;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    Ok(rollout)
}

/// The volume has the class.
async fn succeed(ns: &TestNamespace<'_>, claim: &str) -> anyhow::Result<()> {
    let class = &ns.namespace;
    let status = json!({"currentVolumeAttributesClassName": class, "modifyVolumeStatus": null, "conditions": null});
    ns.write_status(claim, &status).await
}

/// A StatefulSet of two whose class change was staged and written for the highest PVC.
async fn written<'a>(env: &'a World, name: &str) -> anyhow::Result<TestNamespace<'a>> {
    let mut ns = env.namespace(name).await?;
    make_volumes(&ns).await?;
    ns.start_controller(env, &[]).await?;
    let before = Web::replicas(2).class(name).annotated("progress-deadline", "10");
    ns.target(&before).await?;
    ns.settled().await?;
    ns.target(&before.attributes_class(name)).await?;
    ns.until_reported("the write", is("data-web-1", "Modifying")).await?;
    Ok(ns)
}

/// True iff the first PVC that is not done has this state.
fn is(claim: &str, state: &str) -> impl Fn(&Value) -> bool {
    move |rollout| {
        let first = &rollout["status"]["claims"][0];
        first["name"] == claim && first["state"] == state
    }
}

/// It stays stalled while the driver fails, and that is reported once.
async fn stays_stalled(ns: &TestNamespace<'_>) -> anyhow::Result<()> {
    for _ in 0..2 {
        let rollout = attempt(ns, "data-web-1").await?;
        let stalled = &rollout["status"]["conditions"][2];
        let why = text(&stalled["message"]);
        ensure!(
            stalled["status"] == "True" && stalled["reason"] == "ProgressDeadlineExceeded",
            "{rollout:#}"
        );
        ensure!(
            why.starts_with("No progress for 10 seconds: ") && why.contains("data-web-1 is Modifying"),
            "{why}"
        );
    }
    ns.until_event("ClaimRolloutStalled").await?;
    ensure!(ns.events().await?["ClaimRolloutStalled"] == 1, "it was reported twice");
    let written = ns.writes_since(0).await?;
    let count = written.count();
    ensure!(count.claims == ["data-web-1"] && count.changes == 0, "{count:?}");
    let states = written.states("claimrollouts", "web");
    let statuses = states.values().map(|entry| entry.response.value()["status"].take());
    let modifying = statuses.filter(|status| status["claims"][0]["state"] == "Modifying");
    let mut times: Vec<String> = modifying.map(|status| text(&status["lastProgressTime"])).collect();
    times.dedup();
    ensure!(times.len() == 1, "the last progress was at {times:?}");
    Ok(())
}

/// The same two states in turns are no progress, however long a driver fails.
pub(super) async fn class_change_that_fails_for_ever_stalls_at_its_deadline(env: &World) -> anyhow::Result<()> {
    /// They take much longer than the deadline, on a machine of any speed.
    const ATTEMPTS: usize = 60;
    if !env.cluster.modifies_volumes() {
        return Ok(());
    }
    let ns = written(env, "attributes-fail").await?;
    let mut attempts = 0;
    while condition(&ns.rollout().await?, "Stalled") != "True" {
        attempts += 1;
        ensure!(
            attempts < ATTEMPTS,
            "no deadline after {attempts} attempts: {}",
            ns.log()
        );
        attempt(&ns, "data-web-1").await?;
    }
    ensure!(attempts > 1, "the conditions did not change back and forth");
    stays_stalled(&ns).await?;

    succeed(&ns, "data-web-1").await?;
    ns.until_reported("the next write", is("data-web-0", "Modifying"))
        .await?;
    succeed(&ns, "data-web-0").await?;
    ns.until_complete(2, "1Gi").await
}

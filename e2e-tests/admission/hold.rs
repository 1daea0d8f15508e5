//! An image and a size in one request: no Pod runs ahead of its claim. Who holds and lifts here is the policy alone: no
//! controller runs.

use anyhow::ensure;
use serde_json::Value;

use super::Stage;
use super::served::Policies;
use crate::cluster::eventually;
use crate::scenarios::scene::{PATIENCE, Scene, manifest};

const PODS_WAIT: &str = "Pods wait for their claims: rollingUpdate.partition is held at 2 and lowered replica by replica, \
                         down to 0 (annotation claim-rollout.io/sync: Async lets them go)";
const PODS_GO: &str = "Pods do not wait for their claims any more: rollingUpdate.partition is the user's again";

/// The partition in force, and the user's own.
fn partitions(set: &Value) -> (u64, &str) {
    let partition = set["spec"]["updateStrategy"]["rollingUpdate"]["partition"].as_u64();
    let held = set["metadata"]["annotations"]["claim-rollout.io/held-partition"].as_str();
    (partition.unwrap_or_default(), held.unwrap_or("none"))
}

async fn patch(scene: &Scene<'_>, patch: &str) -> anyhow::Result<String> {
    Ok(scene
        .done(&["patch", "statefulset", "web", "-p", patch], "")
        .await?
        .stderr)
}

pub(super) async fn an_image_and_a_size_in_one_apply_hold_every_pod_until_the_user_lets_them_go(
    stage: &Stage,
) -> anyhow::Result<()> {
    let scene = &stage.scene("hold").await?;
    let _served = Policies::of_sets(&[scene])?.serve(stage).await?;
    scene.done(&["apply", "-f", "-"], &manifest(2, "1Gi")).await?;
    let before = scene.settled().await?;
    let pods = scene.pods().await?;
    let both = manifest(2, "2Gi").replace("example/main:1", "example/main:2");
    let dry = scene.done(&["apply", "-f", "-", "--dry-run=server"], &both).await?;
    ensure!(scene.set().await? == before, "a dry run changed the set");
    let output = scene.done(&["apply", "-f", "-"], &both).await?;
    ensure!(dry.stderr == output.stderr, "{dry:?} {output:?}");
    ensure!(
        output
            .stderr
            .contains("staged data 1Gi -> 2Gi; 2 claims will be updated in place"),
        "{output:?}"
    );
    ensure!(output.stderr.contains(PODS_WAIT), "{output:?}");
    let held = scene.settled().await?;
    ensure!(partitions(&held) == (2, "0"), "{held:#}");
    ensure!(held["metadata"]["generation"] == 2, "{held:#}");
    ensure!(
        held["status"]["updateRevision"] != before["status"]["updateRevision"],
        "{held:#}"
    );
    ensure!(
        held["spec"]["volumeClaimTemplates"] == before["spec"]["volumeClaimTemplates"],
        "{held:#}"
    );

    a_canary_waits_as_well(scene).await?;
    ensure!(scene.pods().await? == pods, "Pods restarted");
    they_go(scene, &pods).await
}

/// The user's own partition, while Pods are held, is kept for later; so is it if the note of it is dropped.
async fn a_canary_waits_as_well(scene: &Scene<'_>) -> anyhow::Result<()> {
    ensure!(
        patch(
            scene,
            r#"{"spec":{"updateStrategy":{"rollingUpdate":{"partition":1}}}}"#
        )
        .await?
        .is_empty()
    );
    ensure!(
        partitions(&scene.settled().await?) == (2, "1"),
        "{:#}",
        scene.set().await?
    );
    scene
        .done(
            &["annotate", "statefulset", "web", "claim-rollout.io/held-partition-"],
            "",
        )
        .await?;
    ensure!(
        partitions(&scene.settled().await?) == (2, "1"),
        "{:#}",
        scene.set().await?
    );
    Ok(())
}

/// Pods that need not wait go down to the user's partition.
async fn they_go(scene: &Scene<'_>, pods: &[Value]) -> anyhow::Result<()> {
    let output = scene
        .done(&["annotate", "statefulset", "web", "claim-rollout.io/sync=Async"], "")
        .await?;
    ensure!(output.stderr.contains(PODS_GO), "{output:?}");
    let set = scene.settled().await?;
    ensure!(partitions(&set) == (1, "none"), "{set:#}");
    ensure!(!scene.record().await?.is_null(), "what is staged stays staged");
    let now = eventually("the second Pod to be replaced", PATIENCE, async || {
        let now = scene.pods().await?;
        Ok((now.len() == 2 && now[1] != pods[1]).then_some(now))
    });
    ensure!(now.await?[0] == pods[0], "the Pod below the partition restarted");
    Ok(())
}

//! The image changes with the size: the claims of a replica come first, then its Pod, then the next replica.

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::scene::{Scene, Stage, manifest};
use crate::cluster::Entry;
use crate::installation::USER;

const STATEFUL_SET_CONTROLLER: &str = "system:serviceaccount:kube-system:statefulset-controller";

pub(super) async fn image_and_size_in_one_apply_go_claim_before_pod_replica_by_replica(
    stage: &Stage,
) -> anyhow::Result<()> {
    let scene = Scene::with_set(stage, "lockstep", 3).await?;
    let begun = stage.cluster.audit().await?.len();
    let both = manifest(3, "2Gi").replace("example/main:1", "example/main:2");
    let output = scene.done(&["apply", "-f", "-"], &both).await?;
    ensure!(
        output.stderr.contains("staged data 1Gi -> 2Gi; 3 claims") && output.stderr.contains("partition is held at 3"),
        "{output:?}"
    );
    scene.until_complete(3, "2Gi").await?;
    scene.until_ready(3).await?;

    let set = scene.set().await?;
    let annotations = &set["metadata"]["annotations"];
    ensure!(annotations["claim-rollout.io/held-partition"] == Value::Null, "{set:#}");
    ensure!(partition(&set) == 0, "the user's partition is back: {set:#}");
    ensure!(
        set["status"]["updatedReplicas"] == 3,
        "every Pod has the new image: {set:#}"
    );

    // Everything that was written in this namespace since, in the order in which it was answered.
    let mut entries = stage.cluster.audit().await?.split_off(begun);
    entries.retain(|entry| entry.namespace == scene.namespace && entry.succeeded());
    let written: Vec<String> = entries.iter().filter_map(told).collect();
    let mut after = 0;
    for ordinal in [2, 1, 0] {
        for step in [
            "claim applied",
            "claim grown",
            "Pod released",
            "Pod deleted",
            "Pod created",
            "Pod ran",
        ] {
            let name = if step == "Pod released" {
                "web".to_owned()
            } else {
                format!("web-{ordinal}")
            };
            let step = format!("{step} {name}");
            let at = written[after..].iter().position(|line| *line == step);
            after += at.with_context(|| format!("expected {step} after {after} of {written:#?}"))? + 1;
        }
    }
    let count = |what: &str| written.iter().filter(|line| line.starts_with(what)).count();
    // Three releases, the hold lifted with or after the last one, the record.
    let writes = [count("claim applied"), count("Pod released"), count("Pod deleted")];
    ensure!(writes == [3, 5, 3], "{written:#?}");
    Ok(())
}

fn partition(set: &Value) -> i64 {
    set["spec"]["updateStrategy"]["rollingUpdate"]["partition"]
        .as_i64()
        .unwrap_or(0)
}

/// What an entry of the audit log says about a replica; nothing for what does not matter here.
fn told(entry: &Entry) -> Option<String> {
    let name = &entry.name;
    let replica = name.strip_prefix("data-").unwrap_or(name);
    let what = match (entry.resource.as_str(), entry.subresource.as_str(), entry.verb.as_str()) {
        ("persistentvolumeclaims", "", "patch") if entry.user == USER => "claim applied",
        ("persistentvolumeclaims", "status", _) => "claim grown",
        ("statefulsets", "", "patch") if entry.user == USER => "Pod released",
        ("pods", "", "delete") if entry.user == STATEFUL_SET_CONTROLLER => "Pod deleted",
        ("pods", "", "create") => "Pod created",
        ("pods", "status", _) => "Pod ran",
        _ => return None,
    };
    Some(format!("{what} {replica}"))
}

//! Tools that wait, while Pods wait for their PVCs: no tool reports *done*, and no field of the user is changed.

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::world::World;
use crate::world::namespace::PATIENCE;
use crate::world::web::Web;

/// A number in the status or in the spec.
fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

/// `stsConditions` and the check of the generation before it, of kstatus: sigs.k8s.io/cli-utils v0.37,
/// `pkg/kstatus/status`.
fn is_current(set: &Value) -> bool {
    let (spec, status) = (&set["spec"], &set["status"]);
    if number(&status["observedGeneration"]) != number(&set["metadata"]["generation"]) {
        return false;
    }
    let [replicas, ready, updated] = ["replicas", "readyReplicas", "updatedReplicas"].map(|key| number(&status[key]));
    let wanted = number(&spec["replicas"]);
    if wanted != replicas || wanted > ready {
        return false;
    }
    match spec["updateStrategy"]["rollingUpdate"]["partition"].as_i64() {
        Some(partition) => updated >= wanted - partition,
        None => wanted <= number(&status["currentReplicas"]) && status["currentRevision"] == status["updateRevision"],
    }
}

/// `getAppsv1StatefulSetHealth` of Argo CD 3: gitops-engine, `pkg/health/health_statefulset.go`.
fn is_healthy(set: &Value) -> bool {
    let (spec, status) = (&set["spec"], &set["status"]);
    let observed = number(&status["observedGeneration"]);
    if observed == 0 || number(&set["metadata"]["generation"]) > observed {
        return false;
    }
    if number(&status["readyReplicas"]) < number(&spec["replicas"]) {
        return false;
    }
    match spec["updateStrategy"]["rollingUpdate"]["partition"].as_i64() {
        Some(partition) => number(&status["updatedReplicas"]) >= number(&spec["replicas"]) - partition,
        None => status["updateRevision"] == status["currentRevision"],
    }
}

/// Size and image in one apply: `kubectl rollout status` waits, and ends with the last Pod.
pub(super) async fn no_tool_reports_done_while_pods_wait_for_claims(env: &World) -> anyhow::Result<()> {
    let of = |size: &str| Web::replicas(3).size(size).partition(0);
    let ns = env.with_web("tools-wait", &of("1Gi")).await?;
    let before = ns.set().await?;
    ensure!(is_current(&before) && is_healthy(&before), "{before:#}");
    // While the rollout is paused, no Pod is replaced, so that kubectl sees the beginning.
    let pause = async |paused: &str| ns.typed(&format!("annotate statefulset web {paused}")).await;
    pause("claim-rollout.io/paused=true").await?;
    ns.target(&of("2Gi").image("2")).await?;
    let arguments = ["rollout", "status", "statefulset/web", "--namespace", &ns.namespace];
    let status = ns
        .cluster
        .begin("rollout-status", "kubectl", &arguments, &ns.cluster.kubeconfig())?;
    status
        .until_printed("0 out of 3 new pods have been updated", PATIENCE)
        .await?;
    pause("claim-rollout.io/paused-").await?;
    let (ended, status) = status.until_ended(PATIENCE).await?;
    let set = ns.set().await?;
    ensure!(
        ended.success() && set["status"]["updatedReplicas"] == 3,
        "{status}\n{set:#}"
    );
    ensure!(!status.contains("complete: 0 new pods"), "{status}");
    ns.until_complete(3, "2Gi").await?;
    ns.settled().await?;

    let written = ns.writes_since(0).await?;
    written.pods_follow_their_claims("web", &["data"], &[2, 1, 0])?;
    written.is_a_rollout(&["data-web-2", "data-web-1", "data-web-0"], 3)?;
    let (_, over) = written.replaced("web-0", written.applied("data-web-0")?)?;
    let staged = written.states("statefulsets", "web");
    let since = staged
        .range(..)
        .find(|(_, entry)| entry.response.value()["metadata"]["annotations"]["claim-rollout.io/phase"] == "RollingOut");
    let (since, _) = since.context("expected a staged change, but found none")?;
    let mut states = 0;
    for (version, entry) in staged.range(since..) {
        let set = entry.response.value();
        ensure!(
            set["spec"]["updateStrategy"] == before["spec"]["updateStrategy"],
            "{version}: {set:#}"
        );
        if *version < over {
            ensure!(!is_current(&set) && !is_healthy(&set), "{version}: {set:#}");
            states += 1;
        }
    }
    ensure!(states > 6, "only {states} states of the StatefulSet were seen");
    Ok(())
}

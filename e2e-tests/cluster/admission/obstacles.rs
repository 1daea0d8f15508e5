//! Targets that PVCs cannot reach: the message at admission, and the error of the API server later.

use anyhow::ensure;
use serde_json::json;

use crate::world::namespace::{PATIENCE, TestNamespace, are_as_written, text};
use crate::world::served::Policies;
use crate::world::web::Web;
use crate::world::{World, eventually};

/// Creates a StatefulSet with this many replicas, and PVCs of this storage class.
async fn make(ns: &TestNamespace<'_>, replicas: u32, class: &str) -> anyhow::Result<()> {
    ns.target(&Web::replicas(replicas).class(class)).await?;
    ns.settled().await?;
    let bound = eventually("the claims to be bound", PATIENCE, async || {
        let claims = ns.claims().await?;
        let bound = claims
            .iter()
            .filter(|claim| claim["status"]["phase"] == "Bound")
            .count();
        Ok((bound == replicas as usize).then_some(()))
    });
    bound.await
}

/// Stages a growth. The first request prints these warnings.
async fn warned(ns: &TestNamespace<'_>, manifest: &Web, expected: &[&str]) -> anyhow::Result<()> {
    let output = ns.target(manifest).await?;
    let lines: Vec<&str> = output.stderr.lines().collect();
    ensure!(lines[0].contains("staged data 1Gi -> 2Gi"), "{output:?}");
    let expected: Vec<String> = expected
        .iter()
        .map(|line| format!("Warning: claim-rollout: {line}"))
        .collect();
    ensure!(lines[1..] == expected, "{output:?}");
    ensure!(!ns.staged_change().await?.is_null(), "nothing was staged");
    Ok(())
}

pub(super) async fn claim_that_cannot_follow_is_warned_about_or_denied(env: &World) -> anyhow::Result<()> {
    let (warns, enforces) = (
        &env.namespace("obstacles").await?,
        &env.namespace("obstacles-enforced").await?,
    );
    let _warning = Policies::of_sets(&[warns])?.serve(&env.cluster).await?;
    let enforcing = Policies::of_sets(&[enforces])?.with("pvcChecks", &json!("Deny"));
    let _enforcing = enforcing.serve(&env.cluster).await?;
    for ns in [warns, enforces] {
        make(ns, 2, "fixed").await?;
    }
    let grown = Web::replicas(2).size("2Gi").class("fixed");
    let cause = "data-web-1, data-web-0: storage class fixed does not have allowVolumeExpansion: true";
    warned(warns, &grown, &[cause]).await?;

    let before = enforces.set().await?;
    let output = enforces.kubectl(&["apply", "-f", "-"], &grown).await?;
    let sentence = format!("claim-rollout: PVCs cannot be updated: {cause}");
    ensure!(!output.success && output.stderr.contains(&sentence), "{output:?}");
    ensure!(enforces.set().await? == before, "the set was written");
    Ok(())
}

pub(super) async fn claim_with_another_controller_is_named(env: &World) -> anyhow::Result<()> {
    let ns = &env.namespace("obstacles-owned").await?;
    let _served = Policies::of_sets(&[ns])?.serve(&env.cluster).await?;
    make(ns, 2, "expandable").await?;
    ns.done(&["create", "configmap", "other"], "").await?;
    let uid = ns
        .done(&["get", "configmap", "other", "-o", "jsonpath={.metadata.uid}"], "")
        .await?
        .stdout;
    let owner = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "other", "uid": uid, "controller": true});
    let patch = json!({"metadata": {"ownerReferences": [owner]}}).to_string();
    ns.done(&["patch", "pvc", "data-web-0", "--type=merge", "-p", &patch], "")
        .await?;
    warned(
        ns,
        &Web::replicas(2).size("2Gi"),
        &["data-web-0: owned by ConfigMap other"],
    )
    .await
}

pub(super) async fn exceeded_quota_is_not_denied_rollout_continues_after_raise(env: &World) -> anyhow::Result<()> {
    let mut ns = env.namespace("obstacles-quota").await?;
    let _served = Policies::of_sets(&[&ns])?.serve(&env.cluster).await?;
    ns.done(&["create", "quota", "storage", "--hard=requests.storage=3Gi"], "")
        .await?;
    make(&ns, 2, "expandable").await?;
    let pods = ns.pods().await?;
    ns.controller = Some(env.controllers.start(&["--namespace", &ns.namespace]).await?);
    // The quota has room for one of them.
    warned(&ns, &Web::replicas(2).size("2Gi"), &[]).await?;
    let before = ns.claims().await?;
    let stalled = ns.until_reported("a quota", |rollout| {
        rollout["status"]["conditions"][2]["reason"] == "WouldExceedQuota"
    });
    let message = text(&stalled.await?["status"]["conditions"][2]["message"]);
    let words = "the 2 PVCs that would grow need 2Gi more, and ResourceQuota storage has 1Gi left of 3Gi: ";
    ensure!(message.starts_with(words), "{message}");
    ensure!(are_as_written(&ns.claims().await?, &before), "a claim was written");

    let raised = json!({"spec": {"hard": {"requests.storage": "4Gi"}}}).to_string();
    ns.done(&["patch", "quota", "storage", "-p", &raised], "").await?;
    ns.until_complete(2, "2Gi").await?;
    ensure!(ns.pods().await? == pods, "Pods restarted");
    Ok(())
}

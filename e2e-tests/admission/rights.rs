//! Two users: both may change StatefulSets, only alice may change PVCs.

use anyhow::ensure;
use serde_json::Value;

use super::Stage;
use super::served::Policies;
use crate::installation::USER;
use crate::scenarios::scene::{Scene, are_as_written, manifest, plain_manifest, text};

const SWITCH: [&str; 4] = [
    "annotate",
    "statefulset",
    "web",
    "claim-rollout.io/update-policy=InPlace",
];

/// bob sends a request that would change PVCs. The policy denies it, and nothing is stored.
async fn denied(scene: &Scene<'_>, arguments: &[&str], input: &str) -> anyhow::Result<()> {
    let before = scene.set().await?;
    for dry in [&["--dry-run=server"][..], &[]] {
        let output = scene.kubectl(&[arguments, &["--as=bob"], dry].concat(), input).await?;
        let sentence = format!(
            "user bob cannot patch persistentvolumeclaims in namespace {}",
            scene.namespace
        );
        ensure!(
            !output.success && output.stderr.contains(&sentence),
            "{arguments:?}: {output:?}"
        );
    }
    ensure!(scene.set().await? == before, "{arguments:?}: the set was written");
    Ok(())
}

/// A user sends a request, and kubectl prints this warning.
async fn warned(
    scene: &Scene<'_>,
    user: &str,
    arguments: &[&str],
    input: &str,
    expected: &str,
) -> anyhow::Result<Value> {
    let user = format!("--as={user}");
    let output = scene.done(&[arguments, &[&user]].concat(), input).await?;
    ensure!(output.stderr.contains(expected), "{arguments:?}: {output:?}");
    scene.staged_change().await
}

pub(super) async fn user_without_claim_rights_may_withdraw_but_not_switch(stage: &Stage) -> anyhow::Result<()> {
    let scene = &stage.scene("two-users").await?;
    let _served = Policies::of_sets(&[scene])?.serve(stage).await?;
    scene.give_rights_to_alice_and_bob().await?;
    scene.done(&["apply", "-f", "-"], &plain_manifest(1, "1Gi")).await?;
    scene.settled().await?;
    let claims = scene.claims().await?;
    let apply = ["apply", "-f", "-"];

    // The new update policy alone rolls out the staged change.
    denied(scene, &SWITCH, "").await?;
    let change = warned(
        scene,
        "alice",
        &SWITCH,
        "",
        "staged the templates as they are; 1 claim will be updated",
    )
    .await?;
    ensure!(
        change["by"] == "alice" && change["updatePolicy"] == "InPlace",
        "{change:#}"
    );

    // A user may withdraw what another user staged: that changes no PVC.
    let withdraw = |change: &Value| format!("claim-rollout.io/withdraw={}", text(&change["revision"]));
    let annotate = ["annotate", "statefulset", "web"];
    let back = withdraw(&change);
    let change = warned(scene, "bob", &[&annotate[..], &[&back]].concat(), "", "withdrew ").await?;
    ensure!(change.is_null(), "{change:#}");
    denied(scene, &apply, &manifest(1, "2Gi")).await?;
    let change = warned(
        scene,
        "alice",
        &apply,
        &manifest(1, "2Gi"),
        "staged data 1Gi -> 2Gi; 1 claim",
    )
    .await?;
    let back = withdraw(&change);
    let change = warned(
        scene,
        "bob",
        &[&annotate[..], &[&back]].concat(),
        "",
        "withdrew data 1Gi -> 2Gi",
    )
    .await?;
    ensure!(change.is_null(), "{change:#}");

    // A change that was staged without reaching PVCs reaches them by the new update policy.
    let later = plain_manifest(1, "3Gi");
    denied(scene, &apply, &later).await?;
    let change = warned(scene, "alice", &apply, &later, "existing claims stay as they are").await?;
    ensure!(change["updatePolicy"] == "OnClaimDelete", "{change:#}");
    denied(scene, &SWITCH, "").await?;
    let kept = warned(scene, "alice", &SWITCH, "", "").await?;
    ensure!(kept == change, "{kept:#}");

    ensure!(are_as_written(&scene.claims().await?, &claims), "a claim was written");
    ensure!(scene.writes_of(USER).await?.is_empty(), "something was rolled out");
    Ok(())
}

//! Two users: both may change sets, one of them claims as well.

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

/// bob asks for something that reaches claims, and is refused; nothing is stored.
async fn refused(scene: &Scene<'_>, arguments: &[&str], input: &str) -> anyhow::Result<()> {
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

/// Somebody asks for something and is told this.
async fn told(scene: &Scene<'_>, user: &str, arguments: &[&str], input: &str, expected: &str) -> anyhow::Result<Value> {
    let user = format!("--as={user}");
    let output = scene.done(&[arguments, &[&user]].concat(), input).await?;
    ensure!(output.stderr.contains(expected), "{arguments:?}: {output:?}");
    scene.staged_change().await
}

pub(super) async fn who_may_not_change_claims_may_not_switch_to_in_place_either_but_may_withdraw(
    stage: &Stage,
) -> anyhow::Result<()> {
    let scene = &stage.scene("two-users").await?;
    let _served = Policies::of_sets(&[scene])?.serve(stage).await?;
    scene.give_rights_to_alice_and_bob().await?;
    scene.done(&["apply", "-f", "-"], &plain_manifest(1, "1Gi")).await?;
    scene.settled().await?;
    let claims = scene.claims().await?;
    let apply = ["apply", "-f", "-"];

    // The switch alone is a rollout of what the set has.
    refused(scene, &SWITCH, "").await?;
    let change = told(
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

    // What somebody else wished is his to take back: that writes no claim.
    let withdraw = |change: &Value| format!("claim-rollout.io/withdraw={}", text(&change["revision"]));
    let annotate = ["annotate", "statefulset", "web"];
    let back = withdraw(&change);
    let gone = told(scene, "bob", &[&annotate[..], &[&back]].concat(), "", "withdrew ").await?;
    ensure!(gone.is_null(), "{gone:#}");
    refused(scene, &apply, &manifest(1, "2Gi")).await?;
    let change = told(
        scene,
        "alice",
        &apply,
        &manifest(1, "2Gi"),
        "staged data 1Gi -> 2Gi; 1 claim",
    )
    .await?;
    let back = withdraw(&change);
    let gone = told(
        scene,
        "bob",
        &[&annotate[..], &[&back]].concat(),
        "",
        "withdrew data 1Gi -> 2Gi",
    )
    .await?;
    ensure!(gone.is_null(), "{gone:#}");

    // What was staged without reaching claims reaches them by the switch.
    let later = plain_manifest(1, "3Gi");
    refused(scene, &apply, &later).await?;
    let change = told(scene, "alice", &apply, &later, "existing claims stay as they are").await?;
    ensure!(change["updatePolicy"] == "OnClaimDelete", "{change:#}");
    refused(scene, &SWITCH, "").await?;
    let kept = told(scene, "alice", &SWITCH, "", "").await?;
    ensure!(kept == change, "{kept:#}");

    ensure!(are_as_written(&scene.claims().await?, &claims), "a claim was written");
    ensure!(scene.writes_of(USER).await?.is_empty(), "something was rolled out");
    Ok(())
}

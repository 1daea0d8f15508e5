//! What kubectl says of a rollout, in the middle and at the end.

use anyhow::{Context as _, ensure};

use super::scene::{Scene, Stage, manifest, with_image};

/// `kubectl get claimrollouts`, line by line, without the ages.
async fn table(scene: &Scene<'_>) -> anyhow::Result<Vec<String>> {
    let output = scene.done(&["get", "claimrollouts"], "").await?;
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words[..words.len().saturating_sub(1)].join(" ")
    };
    Ok(output.stdout.lines().map(line).collect())
}

/// What `kubectl describe` says that our controller said: type, reason and message of each Event, in any order.
async fn described(scene: &Scene<'_>, kind: &str, name: &str) -> anyhow::Result<Vec<String>> {
    let output = scene.done(&["describe", kind, name], "").await?;
    let (_, events) = output.stdout.split_once("\nEvents:").context("Events")?;
    let ours = events
        .lines()
        .filter_map(|line| line.split_once("claim-rollout.io/controller"));
    let mut said: Vec<String> = ours
        .map(|(before, message)| {
            let words: Vec<&str> = before.split_whitespace().take(2).collect();
            format!("{}: {}", words.join(" "), message.trim())
        })
        .collect();
    said.sort();
    Ok(said)
}

async fn wait(scene: &Scene<'_>, seconds: u32) -> anyhow::Result<(bool, String)> {
    let timeout = format!("--timeout={seconds}s");
    let arguments = ["wait", "--for=condition=Ready", "claimrollout/web", &timeout];
    let output = scene.kubectl(&arguments, "").await?;
    Ok((output.success, output.stdout + &output.stderr))
}

pub(super) async fn kubectl_tells_what_is_going_on_and_waits_for_its_end(stage: &Stage) -> anyhow::Result<()> {
    let scene = Scene::with_set(stage, "gated-words", 3).await?;
    stage.gates.hold_claim(&scene.namespace, "data-web-1");
    scene.wish(&with_image(&manifest(3, "2Gi"), "2")).await?;
    let held = stage.gates.until_held(&scene.namespace).await;
    held.with_context(|| scene.log())?;
    let revision = scene.record().await?["revision"].as_str().map(str::to_owned);
    let revision = revision.context("a revision")?;
    let head = "NAME SET POLICY REVISION UPDATED READY STATE".to_owned();
    let row = |numbers: &str| format!("web web InPlace {revision} {numbers}");
    let lines = table(&scene).await?;
    ensure!(lines == [head.clone(), row("1 1 RollingOut")], "{lines:?}");
    let all = scene.done(&["get", "all"], "").await?.stdout;
    ensure!(all.contains("\nclaimrollout.claim-rollout.io/web "), "{all}");
    let (met, said) = wait(&scene, 1).await?;
    ensure!(
        !met && said == "error: timed out waiting for the condition on claimrollouts/web\n",
        "{said}"
    );

    stage.gates.open(&scene.namespace);
    let (met, said) = wait(&scene, 60).await?;
    ensure!(
        met && said == "claimrollout.claim-rollout.io/web condition met\n",
        "{said}"
    );
    let lines = table(&scene).await?;
    ensure!(lines == [head, row("3 3 Complete")], "{lines:?}");
    scene.until_told("ClaimRolloutComplete").await?;
    let of_set = described(&scene, "statefulset", "web").await?;
    let ready = |claim: &str| format!("Normal ClaimReady: {claim}: capacity 2Gi");
    let updated = |claim: &str| format!("Normal ClaimUpdated: {claim}: revision {revision}, storage 2Gi");
    let expected = [
        ready("data-web-0"),
        ready("data-web-1"),
        ready("data-web-2"),
        format!("Normal ClaimRolloutComplete: revision {revision}: every claim is at the wish and ready"),
        updated("data-web-0"),
        updated("data-web-1"),
        updated("data-web-2"),
        format!("Normal ClaimsStaged: revision {revision}: 3 claims of data follow, highest ordinal first"),
    ];
    ensure!(of_set == expected, "{of_set:#?}");
    let of_claim = described(&scene, "pvc", "data-web-1").await?;
    ensure!(
        of_claim == [ready("data-web-1"), updated("data-web-1")],
        "{of_claim:#?}"
    );
    Ok(())
}

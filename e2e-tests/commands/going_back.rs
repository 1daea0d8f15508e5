//! `history`, `withdraw` and `undo`.

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::plans::quota;
use super::{Stage, items, run, scene};
use crate::cluster::{Output, eventually};
use crate::scenarios::scene::{PATIENCE, Scene, manifest};

async fn succeeds(scene: &Scene<'_>, arguments: &[&str]) -> anyhow::Result<Output> {
    let output = run(scene, arguments, "").await?;
    ensure!(output.code == Some(0), "{arguments:?}: {output:?}");
    Ok(output)
}

/// The size that each PVC asks for.
async fn requests(scene: &Scene<'_>) -> anyhow::Result<Vec<Value>> {
    let claims = scene.claims().await?;
    let request = |claim: &Value| claim["spec"]["resources"]["requests"]["storage"].clone();
    Ok(claims.iter().map(request).collect())
}

pub(super) async fn withdrawal_during_rollout_names_updated_claims(stage: &Stage) -> anyhow::Result<()> {
    let scene = scene(stage, "withdrawn").await?;
    scene.partition(2).await?;
    scene.apply(3, "2Gi").await?;
    let first = |rollout: &Value| rollout["status"]["readyReplicas"] == 1;
    scene.until_reported("the first claim to be ready", first).await?;
    quota(&scene, "4Gi", "4Gi").await?;
    scene.partition(0).await?;
    let revision = scene.staged_change().await?["revision"]
        .as_str()
        .context("a revision")?
        .to_owned();
    let stuck = eventually("one claim to be refused", PATIENCE, async || {
        Ok((scene.rollout().await?["status"]["claims"][0]["state"] == "Refused").then_some(()))
    });
    stuck.await.with_context(|| scene.log())?;

    let other = run(&scene, &["withdraw", "web", "other"], "").await?;
    let expected = format!("error: expected the staged revision {revision}, but found other\n");
    ensure!((other.code, &other.stderr) == (Some(1), &expected), "{other:?}");
    let withdrew = format!("statefulset.apps/web withdrew revision {revision}");
    let dry = succeeds(&scene, &["withdraw", "web", "--dry-run=server"]).await?;
    ensure!(
        dry.stdout.starts_with(&format!("{withdrew} (server dry run)\n")),
        "{dry:?}"
    );
    ensure!(
        scene.staged_change().await?["revision"] == revision,
        "a dry run stores nothing"
    );

    let output = succeeds(&scene, &["withdraw", "web", &revision]).await?;
    let warning =
        "Warning: claim-rollout: withdrew data 1Gi -> 2Gi; claims that were updated already stay as they are\n";
    ensure!(output.stderr == warning, "{output:?}");
    ensure!(
        output.stdout == format!("{withdrew}\nupdated already, and staying as they are: data-web-2\n"),
        "{output:?}"
    );
    ensure!(scene.staged_change().await? == Value::Null, "still staged");
    ensure!(
        requests(&scene).await? == ["1Gi", "1Gi", "2Gi"],
        "{:?}",
        requests(&scene).await?
    );
    let again = run(&scene, &["withdraw", "web"], "").await?;
    let nothing = "error: expected a staged change of StatefulSet web, but found none\n";
    ensure!((again.code, again.stderr.as_str()) == (Some(1), nothing), "{again:?}");
    Ok(())
}

/// The manifest of 2Gi with a label on its PVCs.
fn labelled() -> String {
    manifest(3, "2Gi").replace("metadata: {name: data}", "metadata: {name: data, labels: {tier: a}}")
}

/// Numbers, users and changes of the history, once it has this many targets.
async fn history(scene: &Scene<'_>, targets: usize) -> anyhow::Result<Vec<String>> {
    let mut last = Vec::new();
    let known = eventually("the history", PATIENCE, async || {
        last = items(&succeeds(scene, &["history", "web", "-o", "json"]).await?)?;
        let numbered = last.iter().all(|item| item["number"].is_i64());
        Ok((last.len() == targets && numbered).then_some(()))
    });
    known.await.with_context(|| format!("the last was {last:#?}"))?;
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let line = |item: &Value| {
        let changes = item["changes"]
            .as_array()
            .into_iter()
            .flatten()
            .map(text)
            .collect::<Vec<_>>();
        format!(
            "{} {} {} {}",
            item["number"],
            text(&item["by"]),
            text(&item["phase"]),
            changes.join(", ")
        )
    };
    Ok(last.iter().map(line).collect())
}

pub(super) async fn history_shows_every_target_and_undo_returns_to_it(stage: &Stage) -> anyhow::Result<()> {
    let scene = scene(stage, "history").await?;
    scene.apply(3, "2Gi").await?;
    scene.until_complete(3, "2Gi").await?;
    scene.done(&["apply", "-f", "-"], &labelled()).await?;
    scene.until_complete(3, "2Gi").await?;
    let expected = [
        "0  - data 1Gi",
        "1 admin - data 1Gi -> 2Gi",
        "2 admin Complete data label tier none -> a",
    ];
    ensure!(history(&scene, 3).await? == expected, "{:?}", history(&scene, 3).await?);
    let table = succeeds(&scene, &["history", "web"]).await?.stdout;
    ensure!(table.starts_with("REVISION     NUMBER   AGE "), "{table}");
    let two = succeeds(&scene, &["history", "web", "--revision", "2"]).await?.stdout;
    ensure!(two.contains("tier: a") && two.contains("storage: 2Gi"), "{two}");

    let dry = succeeds(&scene, &["undo", "web", "--dry-run=server"]).await?;
    ensure!(dry.stdout.ends_with(" (server dry run)\n"), "{dry:?}");
    let output = succeeds(&scene, &["undo", "web"]).await?;
    ensure!(
        output
            .stdout
            .starts_with("statefulset.apps/web rolled back to revision "),
        "{output:?}"
    );
    ensure!(
        output
            .stderr
            .contains("Warning: claim-rollout: staged data label tier a -> none"),
        "{output:?}"
    );
    scene.until_complete(3, "2Gi").await?;
    let labels: Vec<Value> = scene
        .claims()
        .await?
        .iter()
        .map(|claim| claim["metadata"]["labels"]["tier"].clone())
        .collect();
    ensure!(labels == [Value::Null, Value::Null, Value::Null], "{labels:?}");
    let expected = [
        "0  - data 1Gi",
        "2 admin - data 1Gi -> 2Gi, data label tier none -> a",
        "3 admin Complete data label tier a -> none",
    ];
    ensure!(history(&scene, 3).await? == expected, "{:?}", history(&scene, 3).await?);

    // The live templates cannot be a target of `undo`: dropping the staged change leads back to them.
    let output = succeeds(&scene, &["undo", "web", "--to-revision", "0"]).await?;
    ensure!(
        output.stdout.starts_with("statefulset.apps/web withdrew revision "),
        "{output:?}"
    );
    ensure!(
        requests(&scene).await? == ["2Gi", "2Gi", "2Gi"],
        "claims stay as they are"
    );
    Ok(())
}

pub(super) async fn smaller_target_is_denied_with_a_reason(stage: &Stage) -> anyhow::Result<()> {
    let scene = scene(stage, "smaller").await?;
    for size in ["2Gi", "3Gi"] {
        scene.apply(3, size).await?;
        scene.until_complete(3, size).await?;
    }
    history(&scene, 3).await?;
    let output = run(&scene, &["undo", "web"], "").await?;
    ensure!(output.code == Some(1), "{output:?}");
    for words in [
        "asks for less storage, and a claim never gets smaller",
        "claim-rollout: spec.volumeClaimTemplates[data]",
    ] {
        ensure!(
            output.stderr.contains(words),
            "expected {words}, but found {}",
            output.stderr
        );
    }
    ensure!(requests(&scene).await? == ["3Gi", "3Gi", "3Gi"], "nothing changed");
    Ok(())
}

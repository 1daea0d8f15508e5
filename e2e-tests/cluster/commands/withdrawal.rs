//! `history`, `withdraw` and `undo`.

use anyhow::ensure;
use serde_json::{Value, json};

use super::{items, prepare, run};
use crate::world::namespace::TestNamespace;
use crate::world::web::Web;
use crate::world::{Output, World, until};

async fn succeeds(ns: &TestNamespace<'_>, arguments: &[&str]) -> anyhow::Result<Output> {
    let output = run(ns, arguments, "").await?;
    ensure!(output.code == Some(0), "{arguments:?}: {output:?}");
    Ok(output)
}

/// The manifest of 2Gi with a label on its PVCs.
fn labelled() -> Web {
    let web = Web::replicas(3).size("2Gi");
    web.template(&json!({"metadata": {"labels": {"tier": "a"}}}))
}

/// Numbers, users and changes of the history, once it has this many targets.
async fn history(ns: &TestNamespace<'_>, targets: usize) -> anyhow::Result<Vec<String>> {
    let read = async || items(&succeeds(ns, &["history", "web", "-o", "json"]).await?);
    let known = |items: &Vec<Value>| items.len() == targets && items.iter().all(|item| item["number"].is_i64());
    let last = until("the history", read, known).await?;
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

pub(super) async fn history_shows_every_target_and_undo_returns_to_it(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "undone").await?;
    ns.apply(3, "2Gi").await?;
    ns.until_complete(3, "2Gi").await?;
    ns.target(&labelled()).await?;
    ns.until_complete(3, "2Gi").await?;
    let expected = [
        "0  - data 1Gi",
        "1 admin - data 1Gi -> 2Gi",
        "2 admin Complete data label tier none -> a",
    ];
    ensure!(history(&ns, 3).await? == expected, "{:?}", history(&ns, 3).await?);
    let table = succeeds(&ns, &["history", "web"]).await?.stdout;
    ensure!(table.starts_with("REVISION     NUMBER   AGE "), "{table}");
    let two = succeeds(&ns, &["history", "web", "--revision", "2"]).await?.stdout;
    ensure!(two.contains("tier: a") && two.contains("storage: 2Gi"), "{two}");

    let dry = succeeds(&ns, &["undo", "web", "--dry-run=server"]).await?;
    ensure!(dry.stdout.ends_with(" (server dry run)\n"), "{dry:?}");
    let output = succeeds(&ns, &["undo", "web"]).await?;
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
    ns.until_complete(3, "2Gi").await?;
    let labels: Vec<Value> = ns
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
    ensure!(history(&ns, 3).await? == expected, "{:?}", history(&ns, 3).await?);

    // The live templates cannot be a target of `undo`: dropping the staged change leads back to them.
    let output = succeeds(&ns, &["undo", "web", "--to-revision", "0"]).await?;
    ensure!(
        output.stdout.starts_with("statefulset.apps/web withdrew revision "),
        "{output:?}"
    );
    ensure!(ns.sizes().await? == ["2Gi", "2Gi", "2Gi"], "claims stay as they are");
    Ok(())
}

pub(super) async fn smaller_target_shrinks_no_pvc(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "smaller").await?;
    for size in ["2Gi", "3Gi"] {
        ns.apply(3, size).await?;
        ns.until_complete(3, size).await?;
    }
    history(&ns, 3).await?;
    let output = succeeds(&ns, &["undo", "web"]).await?;
    for words in [
        "staged data 3Gi -> 2Gi",
        "no PVC shrinks: one that asks for more keeps it",
    ] {
        ensure!(
            output.stderr.contains(words),
            "expected {words}, but found {}",
            output.stderr
        );
    }
    ns.until("the rollout to complete", "staged", |change| {
        change["phase"] == "Complete"
    })
    .await?;
    ensure!(ns.sizes().await? == ["3Gi", "3Gi", "3Gi"], "a PVC was changed");
    Ok(())
}

//! `replace`, and what `plan` shows of a replacement.

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::cluster::commands::{prepare, run};
use crate::cluster::replacing::kept::Before;
use crate::cluster::replacing::trial::{is_replaced, journals, replaced};
use crate::world::book::{Book, blocks, section};
use crate::world::document::text;
use crate::world::installation::{USER, manifest_applied};
use crate::world::namespace::TestNamespace;
use crate::world::{Output, World, until};

const DOCUMENT: &str = "docs/commands.md";
const HEADING: &str = "## replace: a StatefulSet without a controller";

/// A namespace with a StatefulSet whose rollout to 2Gi is complete. It was created more than a minute ago, so that it
/// can be replaced.
async fn complete<'a>(env: &'a World, namespace: &str) -> anyhow::Result<TestNamespace<'a>> {
    manifest_applied(&env.cluster, "replace-sets.yaml").await?;
    let ns = prepare(env, namespace).await?;
    ns.apply(3, "2Gi").await?;
    ns.until_complete(3, "2Gi").await?;
    let try_it = async || by_hand(&ns, &["--dry-run"]).await;
    until("the StatefulSet to be old enough", try_it, |output| {
        output.code == Some(0)
    })
    .await?;
    Ok(ns)
}

/// `claim-rollout replace` as the account of the controller.
async fn by_hand(ns: &TestNamespace<'_>, arguments: &[&str]) -> anyhow::Result<Output> {
    run(ns, &[&["replace", "web", "--as", USER], arguments].concat(), "").await
}

/// Fails unless the StatefulSet is a new one with 2Gi, and nothing else is left or changed.
async fn ensure_replaced(ns: &TestNamespace<'_>, before: &Before) -> anyhow::Result<()> {
    let set = ns.set().await?;
    is_replaced(&set, &before.set, "2Gi")?;
    before.keeps_pods_and_claims(ns).await?;
    ensure!(journals(ns).await?.is_empty(), "a journal is left");
    let owner = &ns.rollout().await?["metadata"]["ownerReferences"][0]["uid"];
    ensure!(*owner == set["metadata"]["uid"], "owner of the ClaimRollout: {owner}");
    Ok(())
}

pub(super) async fn replace_without_a_controller_keeps_pods_and_claims(env: &World) -> anyhow::Result<()> {
    let mut book = Book::under(&[HEADING], DOCUMENT)?;
    let mut ns = complete(env, "by-hand").await?;
    ns.controller = None;
    let before = Before::of(&ns).await?;

    // The dry run writes nothing.
    let documented = book.expect(&format!("claim-rollout replace web --dry-run --as={USER}"))?;
    let dry = by_hand(&ns, &["--dry-run"]).await?;
    ensure!(dry.code == Some(0), "{dry:?}");
    book.compare(&documented, &(dry.stderr + &dry.stdout));
    ensure!(
        ns.set().await? == before.set && journals(&ns).await?.is_empty(),
        "the dry run wrote"
    );

    // The guard denies it to the administrator, before the StatefulSet is changed.
    let denied = run(&ns, &["replace", "web"], "").await?;
    let hint = format!("repeat the command with --as={USER}");
    ensure!(denied.code == Some(1) && denied.stderr.contains(&hint), "{denied:?}");
    let spared = ns.set().await?;
    ensure!(spared == before.set && journals(&ns).await?.is_empty(), "{spared:#}");

    let command = format!("claim-rollout replace web --as={USER}");
    let documented = book.expect(&command)?;
    let replaced = by_hand(&ns, &[]).await?;
    ensure!(replaced.code == Some(0), "{replaced:?}");
    book.compare(&documented, &(replaced.stderr + &replaced.stdout));
    ensure_replaced(&ns, &before).await?;

    let documented = book.expect(&command)?;
    let again = by_hand(&ns, &[]).await?;
    ensure!(again.code == Some(0), "{again:?}");
    book.compare(&documented, &(again.stderr + &again.stdout));
    book.end()
}

pub(super) async fn replace_beside_a_controller_replaces_once(env: &World) -> anyhow::Result<()> {
    let mut ns = complete(env, "side-by-side").await?;
    ns.controller = None;
    ns.start_controller(env, &["--system-namespace", "claim-rollout"])
        .await?;
    let before = Before::of(&ns).await?;
    // Two users at the same time, and the controller.
    let (one, other) = tokio::join!(by_hand(&ns, &[]), by_hand(&ns, &[]));
    for output in [one?, other?] {
        ensure!(output.code == Some(0), "{output:?}\n{}", ns.log());
    }
    ensure_replaced(&ns, &before).await.with_context(|| ns.log())
}

pub(super) async fn plan_shows_what_prevents_a_replacement(env: &World) -> anyhow::Result<()> {
    let document = text(DOCUMENT)?;
    let plan = section(&document, "## plan: what would happen").context("the section of plan")?;
    let documented = blocks(plan, "text")
        .into_iter()
        .find(|block| block.starts_with("Replacement: "));
    let documented = documented.context("what plan prints of a replacement")?;
    let ns = prepare(env, "prevented").await?;
    ns.target(&replaced(3, "1Gi").partition(1)).await?;
    ns.cluster
        .write("prevented.yaml", &replaced(3, "2Gi").partition(1).to_string())?;
    let arguments = ["plan", "-f", "prevented.yaml"];
    let output = run(&ns, &arguments, "").await?;
    ensure!(output.stdout.contains(documented), "{documented}\n{output:?}");
    let output = run(&ns, &[&arguments[..], &["-o", "json"]].concat(), "").await?;
    let reported: Value = serde_json::from_str(&output.stdout)?;
    let reported = &reported["items"][0]["replacement"]["preventedBy"];
    ensure!(
        reported[0]["reason"] == "PartitionSet" && reported[1].is_null(),
        "{output:?}"
    );
    Ok(())
}

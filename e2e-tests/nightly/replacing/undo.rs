//! Going back after a replacement: sizes that were reached stay.

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::cluster::commands::run;
use crate::cluster::replacing::kept::Before;
use crate::cluster::replacing::trial::{hold, prepare, release, replaced, until_replaced};
use crate::world::namespace::{TestNamespace, text};
use crate::world::web::Web;
use crate::world::{Output, World};

/// The manifest with a label on its PVCs.
fn labelled(size: &str, tier: &str) -> Web {
    replaced(2, size).template(&json!({"metadata": {"labels": {"tier": tier}}}))
}

/// What the request is denied with. Nothing changes.
async fn denied(ns: &TestNamespace<'_>, output: Output) -> anyhow::Result<()> {
    let sentence = "claim-rollout: spec.volumeClaimTemplates[data].spec.resources.requests.storage: cannot shrink, \
                    expected at least 3Gi, but found 2Gi; allowed changes: spec.resources.requests.storage (larger \
                    only), spec.volumeAttributesClassName, metadata.labels and metadata.annotations";
    ensure!(!output.success && output.stderr.contains(sentence), "{output:?}");
    ensure!(ns.staged_change().await?.is_null(), "something is staged");
    Ok(())
}

/// The label of the PVCs.
async fn tiers(ns: &TestNamespace<'_>) -> anyhow::Result<Vec<String>> {
    let claims = ns.claims().await?;
    let tier = |claim: &Value| text(&claim["metadata"]["labels"]["tier"]);
    Ok(claims.iter().map(tier).collect())
}

pub(super) async fn sizes_stay_and_labels_go_back_after_a_replacement(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "undone", 2).await?;
    // None of these is live before the replacement.
    hold(&ns).await?;
    let first = labelled("2Gi", "a");
    ns.target(&first).await?;
    ns.until_complete(2, "2Gi").await?;
    ns.target(&labelled("3Gi", "a")).await?;
    let before = release(&ns).await?;
    until_replaced(&ns, &before, "3Gi").await?;
    hold(&ns).await?;
    ns.target(&labelled("3Gi", "b")).await?;
    ns.until_complete(2, "3Gi").await?;
    let before = Before::with(&ns, release(&ns).await?).await?;
    ns.until_another(&before.set).await?;
    until_replaced(&ns, &before.set, "3Gi").await?;
    before.keeps_pods_and_claims(&ns).await?;
    let live = Before::of(&ns).await?;
    ensure!(tiers(&ns).await? == ["b", "b"], "{:?}", tiers(&ns).await?);

    // The manifest of before, by each kind of apply, and the oldest revision.
    denied(&ns, ns.kubectl(&["apply", "-f", "-"], &first).await?).await?;
    let server_side = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
    denied(&ns, ns.kubectl(&server_side, &first).await?).await?;
    let output = run(&ns, &["undo", "web", "--to-revision", "1"], "").await?;
    let sentence = "has less storage than the live templates, and a PVC never gets smaller";
    ensure!(output.stderr.contains(sentence), "{output:?}");
    denied(&ns, output).await?;
    live.keeps_everything(&ns).await?;

    // The revision before the live one has another label.
    let output = run(&ns, &["undo", "web"], "").await?;
    ensure!(output.success, "{output:?}");
    ensure!(
        output.stderr.contains("claim-rollout: staged data label tier b -> a"),
        "{output:?}"
    );
    let staged = ns.set().await?;
    ns.until_another(&staged).await?;
    let set = until_replaced(&ns, &staged, "3Gi").await.context("after undo")?;
    let label = &set["spec"]["volumeClaimTemplates"][0]["metadata"]["labels"]["tier"];
    ensure!(label == "a", "{label}");
    live.keeps_pods_and_claims(&ns).await?;
    ensure!(tiers(&ns).await? == ["a", "a"], "{:?}", tiers(&ns).await?);
    Ok(())
}

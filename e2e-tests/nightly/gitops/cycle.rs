//! A change of the templates from Git to the PVCs and back, as one tool shows it.

use std::collections::BTreeSet;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::tools::Tool;
use crate::world::World;
use crate::world::again::Unmoved;
use crate::world::namespace::{TestNamespace, are_as_written, staged_change};
use crate::world::web::Web;

/// The StatefulSet `web` of two replicas in Git.
pub(super) fn in_git(size: &str) -> Web {
    let web = Web::replicas(2).size(size);
    web.spec(&json!({"minReadySeconds": 1}))
}

/// The cells of a tool: what it shows when Git asks for more, when that is staged and complete, and when Git goes back.
/// In between the tool syncs, and once more, which changes nothing.
pub(super) async fn cells(env: &World, tool: &Tool) -> anyhow::Result<[String; 3]> {
    let mut ns = env.namespace(tool.namespace).await?;
    let (small, large) = (in_git("1Gi").value(), in_git("2Gi").value());
    tool.sync.send(&ns, &small).await?;
    let before = ns.settled().await?;
    shows_only_real_changes(tool, &ns, &small).await?;

    let more = tool.shows(&ns, &small, &large).await?;
    tool.sync.send(&ns, &large).await?;
    let staged = ns.set().await?;
    ensure!(staged["spec"] == before["spec"], "{staged:#}");
    let target = staged_change(&staged)?;
    let size = &target["templates"][0]["spec"]["resources"]["requests"]["storage"];
    ensure!(size == "2Gi" && target["manager"] == tool.sync.manager(), "{target:#}");
    let after = tool.shows(&ns, &large, &large).await?;
    again(tool, &ns, &large).await?;

    ns.start_controller(env, &[]).await?;
    ns.until_complete(2, "2Gi").await?;
    let complete = tool.shows(&ns, &large, &large).await?;
    ensure!(
        after == complete,
        "{after:?} while it is staged, {complete:?} when it is complete"
    );
    let claims = ns.claims().await?;
    again(tool, &ns, &large).await?;

    let back = tool.shows(&ns, &large, &small).await?;
    tool.sync.send(&ns, &small).await?;
    let returned = ns.set().await?;
    // It differs in nothing from a patch by which Helm 4 puts `managedFields` in order.
    let expected = if tool.sync.is_server_side() {
        json!("Complete")
    } else {
        Value::Null
    };
    ensure!(staged_change(&returned)?["phase"] == expected, "{returned:#}");
    ensure!(
        returned["spec"]["volumeClaimTemplates"] == before["spec"]["volumeClaimTemplates"],
        "{returned:#}"
    );
    let last = tool.shows(&ns, &small, &small).await?;
    ensure!(last.is_empty(), "it still shows {last:?}");
    again(tool, &ns, &small).await?;
    ensure!(are_as_written(&ns.claims().await?, &claims), "a claim was written");
    Ok([&more, &after, &back].map(cell))
}

/// The tool shows nothing if everything is as in Git, and shows a change by hand.
async fn shows_only_real_changes(tool: &Tool, ns: &TestNamespace<'_>, manifest: &Value) -> anyhow::Result<()> {
    let changed = [tool.shows_of("spec.minReadySeconds")];
    for (seconds, expected) in [(1, &[][..]), (2, &changed), (1, &[])] {
        let patch = json!({"spec": {"minReadySeconds": seconds}});
        ns.typed(&format!("patch statefulset/web --type=merge -p '{patch}'"))
            .await?;
        // Some tools show whether Pods are available, which follows later.
        ns.settled().await?;
        let mut shown = tool.shows(ns, manifest, manifest).await?;
        // A dry run that changes the spec increments the generation.
        shown.remove("metadata.generation");
        let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
        ensure!(
            shown == expected,
            "minReadySeconds {seconds}: expected {expected:?}, but found {shown:?}"
        );
    }
    Ok(())
}

/// The same sync again changes nothing.
async fn again(tool: &Tool, ns: &TestNamespace<'_>, manifest: &Value) -> anyhow::Result<()> {
    if tool.sync.owns_what_it_has_read() {
        tool.sync.send(ns, manifest).await?;
    }
    let mut unmoved = Unmoved::from(ns.set().await?)?;
    for _ in 0..3 {
        tool.sync.send(ns, manifest).await.context("the same sync again")?;
        unmoved.still(ns.set().await?)?;
    }
    Ok(())
}

/// Paths in the notation of the document.
pub(super) fn cell(paths: &BTreeSet<String>) -> String {
    if paths.is_empty() {
        return "in sync".to_owned();
    }
    let paths: Vec<String> = paths.iter().map(|path| format!("`{path}`")).collect();
    paths.join(", ")
}

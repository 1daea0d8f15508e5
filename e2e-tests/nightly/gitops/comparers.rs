//! The comparisons of Argo CD and Flux, by their own code: `e2e-tests/engines`.

use std::collections::BTreeSet;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::paths::{at_pointer, differences, without};
use crate::world::{Cluster, engines};

/// The templates, for `ignoreDifferences` of Argo CD: an expression for jq.
pub(super) const TEMPLATES: &str = ".spec.volumeClaimTemplates";

/// What an Application of Argo CD sets.
#[derive(Clone, Copy)]
pub(super) struct ArgoOptions {
    /// `ServerSideDiff=true`
    pub(super) server_side_diff: bool,
    /// `IncludeMutationWebhook=true`
    pub(super) webhooks: bool,
    /// `ignoreDifferences`
    pub(super) ignored: &'static [&'static str],
}

/// What Argo CD shows as different.
pub(super) async fn argo_cd(
    cluster: &Cluster,
    manifest: &Value,
    live: &Value,
    options: ArgoOptions,
) -> anyhow::Result<BTreeSet<String>> {
    let request = json!({
        "live": live, "config": manifest, "serverSideDiff": options.server_side_diff, "webhooks": options.webhooks,
        "ignored": options.ignored,
    });
    let compared = ask(cluster, "argo-cd", &[], &request).await?;
    let shown = differences(&compared["predicted"], &compared["live"]);
    ensure!(compared["modified"] == !shown.is_empty(), "{compared:#}");
    Ok(shown)
}

/// What Flux sees as different: a Kustomization, which is applied only then.
pub(super) async fn kustomization(cluster: &Cluster, object: &Value) -> anyhow::Result<BTreeSet<String>> {
    let compared = flux(cluster, "kustomization", object).await?;
    if compared["action"] == "unchanged" {
        return Ok(BTreeSet::new());
    }
    ensure!(compared["action"] == "configured", "{compared:#}");
    // Flux compares labels, annotations, and what is neither metadata nor status.
    let left_out = ["/status", "/metadata/generation", "/metadata/resourceVersion"];
    let shown = differences(
        &without(&compared["dryRun"], &left_out),
        &without(&compared["live"], &left_out),
    );
    ensure!(!shown.is_empty(), "{compared:#}");
    Ok(shown)
}

/// What Flux sees as different: a HelmRelease with drift detection.
pub(super) async fn helm_release(cluster: &Cluster, object: &Value) -> anyhow::Result<BTreeSet<String>> {
    let compared = flux(cluster, "helm-release", object).await?;
    let patch = compared["patch"].as_array().cloned().unwrap_or_default();
    let shown: BTreeSet<String> = patch
        .iter()
        .filter_map(|operation| operation["path"].as_str().map(at_pointer))
        .collect();
    let expected = if shown.is_empty() { "none" } else { "update" };
    ensure!(compared["action"] == expected, "{compared:#}");
    Ok(shown)
}

/// The status with which Flux and Helm 4 wait (kstatus), of the object as it was read.
pub(super) async fn status(cluster: &Cluster, object: &Value) -> anyhow::Result<String> {
    let computed = flux(cluster, "status", object).await?;
    let status = computed["Status"].as_str().with_context(|| computed.to_string())?;
    Ok(status.to_owned())
}

async fn flux(cluster: &Cluster, mode: &str, object: &Value) -> anyhow::Result<Value> {
    ask(cluster, "flux", &[mode], object).await
}

/// Runs the program `diff` of an engine against the cluster.
async fn ask(cluster: &Cluster, engine: &str, arguments: &[&str], input: &Value) -> anyhow::Result<Value> {
    let program = engines::build(engine).await?.join("diff");
    let (program, kubeconfig) = (program.to_string_lossy(), cluster.kubeconfig());
    let kubeconfig = kubeconfig.to_string_lossy();
    let arguments = [arguments, &[&*kubeconfig]].concat();
    let output = cluster.run(&program, &arguments, &[], &input.to_string()).await?;
    ensure!(output.success, "{program} {}: {output:?}", arguments.join(" "));
    serde_json::from_str(&output.stdout).with_context(|| output.stdout.clone())
}

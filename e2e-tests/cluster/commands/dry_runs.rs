//! `plan` as a dry run: what it prints is what the API server answers to the request that follows.

use anyhow::{Context as _, ensure};
use serde_json::json;

use super::plans::{plan, plan_with};
use super::prepare;
use crate::world::namespace::PATIENCE;
use crate::world::web::Web;
use crate::world::{World, eventually, manifests};

pub(super) async fn plan_has_the_denial_of_another_policy(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "planned-denied").await?;
    let validation = json!({"expression": "object.spec.replicas <= 3", "message": "three are enough"});
    let updates = ["UPDATE", "apps", "statefulsets"];
    for object in manifests::denying(&ns.namespace, &ns.namespace, updates, &validation) {
        ns.target(&object).await?;
    }
    let new = Web::replicas(4).size("2Gi");
    let denied = eventually("the policy", PATIENCE, async || {
        let (output, planned) = plan(&ns, &new).await?;
        let message = planned["verdict"]["message"].as_str().map(str::to_owned);
        Ok(message.map(|message| (output, message)))
    });
    let (output, message) = denied.await?;
    ensure!(
        output.code == Some(1) && message.contains("three are enough"),
        "{output:?}"
    );
    let applied = ns.kubectl(&["apply", "-f", "-"], &new).await?;
    // kubectl has words of its own before the answer.
    let (_, why) = message
        .split_once("denied request: ")
        .context("the answer of the policy")?;
    ensure!(
        !applied.success && applied.stderr.contains(why),
        "{message}\n{applied:?}"
    );
    let (output, _) = plan(&ns, &Web::replicas(3).size("2Gi")).await?;
    ensure!(output.code == Some(0), "{output:?}");
    Ok(())
}

pub(super) async fn plan_of_server_side_apply_names_conflicts(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "planned-conflicts").await?;
    let new = Web::replicas(3).size("2Gi").spec(&json!({"minReadySeconds": 1}));
    ns.target(&Web::replicas(3).spec(&json!({"minReadySeconds": 2})))
        .await?;
    let helm = ["--field-manager", "helm"];
    let (output, planned) = plan_with(&ns, &helm, &new).await?;
    let message = planned["verdict"]["message"].as_str().unwrap_or_default().to_owned();
    ensure!(
        output.code == Some(1) && message.contains("minReadySeconds"),
        "{planned:#}"
    );
    let server_side = ["apply", "--server-side", "--field-manager", "helm", "-f", "-"];
    let applied = ns.kubectl(&server_side, &new).await?;
    ensure!(
        !applied.success && applied.stderr.contains("minReadySeconds"),
        "{applied:?}"
    );

    let forced = [&helm[..], &["--force-conflicts"]].concat();
    let (output, planned) = plan_with(&ns, &forced, &new).await?;
    ensure!(
        output.code == Some(0) && planned["verdict"]["outcome"] == "Staged",
        "{planned:#}"
    );
    let applied = ns
        .done(&[&server_side[..], &["--force-conflicts"]].concat(), &new)
        .await?;
    let warning = planned["verdict"]["warnings"][0].as_str().context("a warning")?;
    // kubectl then patches `managedFields`. A patch for an older version has warnings of its own, and ends as a conflict.
    ensure!(
        applied.stderr.starts_with(&format!("Warning: {warning}\n")),
        "{applied:?}"
    );
    let staged = ns.staged_change().await?;
    ensure!(staged["revision"] == planned["target"]["revision"], "{staged:#}");
    Ok(())
}

//! A Helm release from install to uninstall.

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::helm;
use crate::world::installation::{Controllers, NAMESPACE};
use crate::world::namespace::TestNamespace;
use crate::world::web::Web;
use crate::world::webhook::Server;
use crate::world::{Cluster, Options, until};

/// A StatefulSet whose Pods wait for PVCs: no controller runs that expands them.
async fn waiting<'a>(
    cluster: &'a Cluster,
    client: &kube::Client,
    controllers: &Controllers,
) -> anyhow::Result<TestNamespace<'a>> {
    let mut ns = TestNamespace::new(cluster, client, "waiting").await?;
    ns.controller = Some(controllers.start(&["--namespace", "waiting"]).await?);
    ns.target(&Web::replicas(2)).await?;
    ns.settled().await?;
    ns.controller.as_mut().context("a controller")?.terminate().await?;
    ns.target(&Web::replicas(2).size("2Gi").image("2")).await?;
    ns.until_denied("web-1").await?;
    Ok(ns)
}

/// The parts of a StatefulSet that the StatefulSet controller does not write.
fn users(set: &Value) -> Value {
    let metadata = &set["metadata"];
    json!([
        set["spec"],
        metadata["annotations"],
        metadata["labels"],
        metadata["generation"],
        metadata["finalizers"]
    ])
}

/// The address that the API server calls, and the certificates that it trusts there.
async fn clients(cluster: &Cluster) -> anyhow::Result<Value> {
    let get = "get mutatingwebhookconfiguration claim-rollout-webhook -o json";
    let configuration: Value = cluster.read(get).await?;
    let webhooks = configuration["webhooks"].as_array().context("webhooks")?;
    Ok(webhooks.iter().map(|webhook| webhook["clientConfig"].clone()).collect())
}

async fn uninstall_leaves_only_the_definition(cluster: &Cluster) -> anyhow::Result<()> {
    let kinds = "deployments,services,secrets,serviceaccounts,roles,rolebindings,poddisruptionbudgets,configmaps,clusterroles,\
                 clusterrolebindings,priorityclasses,mutatingwebhookconfigurations,validatingwebhookconfigurations,\
                 validatingadmissionpolicies,validatingadmissionpolicybindings";
    let ours = format!("get {kinds} -n {NAMESPACE} -l app.kubernetes.io/name=claim-rollout -o name");
    let left = cluster.typed(&ours).await?;
    ensure!(left.stdout.is_empty(), "{left:?}");
    // The ClaimRollouts do not go with the release.
    cluster.typed("get crd claimrollouts.claim-rollout.io").await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn release_installed_upgraded_uninstalled_changes_no_set() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options::default()).await?;
    let client = cluster.client().await?;
    let builtin = ["admission=builtin"];
    let install = ["install", "claim-rollout", "--create-namespace"];
    let installed = helm(&cluster, &install, &builtin).await?;
    ensure!(installed.success, "{installed:?}");
    let controllers = Controllers::of(&cluster).await?;
    let server = Server::begin(&cluster).await?;
    let before = clients(&cluster).await?;
    for client in [&before[0], &before[1], &before[2]] {
        let path = client["service"]["path"].as_str().unwrap_or_default();
        ensure!(
            client["caBundle"].is_string() && path.split('/').count() == 4,
            "{client}"
        );
    }
    let upgraded = helm(
        &cluster,
        &["upgrade", "claim-rollout"],
        &["admission=builtin", "webhook.replicas=3"],
    )
    .await?;
    ensure!(upgraded.success, "{upgraded:?}");
    ensure!(
        clients(&cluster).await? == before,
        "an upgrade changed whom API servers trust, or where they ask"
    );
    let replicas = format!("get deployment claim-rollout-webhook -n {NAMESPACE} -o jsonpath={{.spec.replicas}}");
    ensure!(cluster.typed(&replicas).await?.stdout == "3");

    // No Pods run here, so the Service has no endpoint.
    server.stand_for_the_service(&cluster).await?;
    let ns = waiting(&cluster, &client, &controllers).await?;
    let (set, pods) = (ns.set().await?, ns.pods().await?);
    let hooks = ["get", "hooks", "claim-rollout", "--namespace", NAMESPACE];
    let hooks = cluster.run("helm", &hooks, &[], "").await?;
    ensure!(hooks.success && hooks.stdout.trim().is_empty(), "{hooks:?}");

    let uninstall = ["uninstall", "claim-rollout", "--namespace", NAMESPACE];
    let uninstalled = cluster.run("helm", &uninstall, &[], "").await?;
    ensure!(uninstalled.success, "{uninstalled:?}");
    server.terminate().await?;
    uninstall_leaves_only_the_definition(&cluster).await?;
    let after = ns.set().await?;
    ensure!(users(&after) == users(&set), "before: {set:#}; after: {after:#}");
    // Without the policy no Pod waits.
    ns.typed("set env statefulset/web A=b").await?;
    ns.settled().await?;
    let now = ns.pods().await?;
    ensure!(now[0] != pods[0] && now[1] != pods[1], "a Pod is still the old one");
    installed_again_rolls_nothing_out_by_itself(&cluster, ns).await?;
    cluster.stop();
    Ok(())
}

/// The change that was staged before the uninstall is not rolled out until somebody applies it again.
async fn installed_again_rolls_nothing_out_by_itself(
    cluster: &Cluster,
    mut ns: TestNamespace<'_>,
) -> anyhow::Result<()> {
    let install = ["install", "claim-rollout", "--create-namespace"];
    let installed = helm(cluster, &install, &["admission=builtin"]).await?;
    ensure!(installed.success, "{installed:?}");
    let server = Server::begin(cluster).await?;
    server.stand_for_the_service(cluster).await?;
    let controllers = Controllers::of(cluster).await?;
    ns.controller = Some(controllers.start(&["--namespace", "waiting"]).await?);
    let is_held = |rollout: &Value| rollout["status"]["conditions"][2]["reason"] == "StagedBeforePolicy";
    ns.until_reported("the hold", is_held).await?;
    // With other Pods: they do not wait for PVCs that nobody updates.
    ns.typed("set env statefulset/web A=c").await?;
    ns.settled().await?;
    let sizes = ns.sizes().await?;
    ensure!(sizes == ["1Gi", "1Gi"], "{sizes:?}");

    ns.target(&Web::replicas(2).size("2Gi").image("2")).await?;
    let has_grown = |sizes: &Vec<String>| sizes.iter().any(|size| size == "2Gi");
    let grown = until("a PVC to grow", async || ns.sizes().await, has_grown).await;
    grown.with_context(|| ns.log())?;
    server.terminate().await
}

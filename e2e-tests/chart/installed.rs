//! A release from its installation to its end.

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::helm;
use crate::built_in::Server;
use crate::cluster::{Cluster, Options};
use crate::installation::{ACCOUNT, Controllers, NAMESPACE, binary};
use crate::scenarios::scene::{Scene, manifest, with_image, with_partition};

/// What runs before the release goes.
async fn hook(cluster: &Cluster) -> anyhow::Result<Vec<String>> {
    let hooks = ["get", "hooks", "claim-rollout", "--namespace", NAMESPACE];
    let output = cluster.run("helm", &hooks, &[], "").await?;
    let objects: Vec<Value> = serde_saphyr::from_multiple(&output.stdout)?;
    let job = objects
        .into_iter()
        .find(|object| object["kind"] == "Job")
        .context("a Job")?;
    ensure!(
        job["metadata"]["annotations"]["helm.sh/hook"] == "pre-delete",
        "{job:#}"
    );
    let pod = &job["spec"]["template"]["spec"];
    ensure!(pod["serviceAccountName"] == ACCOUNT, "{pod:#}");
    Ok(serde_json::from_value(pod["containers"][0]["args"].clone())?)
}

/// A set whose Pods wait for claims that nobody brings up: the controller is not there.
async fn held<'a>(cluster: &'a Cluster, client: &kube::Client, controllers: &Controllers) -> anyhow::Result<Scene<'a>> {
    let mut scene = Scene::new(cluster, client, "held").await?;
    scene.controller = Some(controllers.start(&["--namespace", "held"]).await?);
    scene.wish(&with_partition(&manifest(2, "1Gi"), 1)).await?;
    scene.settled().await?;
    scene.controller.as_mut().context("a controller")?.terminate().await?;
    scene
        .wish(&with_image(&with_partition(&manifest(2, "2Gi"), 1), "2"))
        .await?;
    let set = scene.set().await?;
    ensure!(partition(&set) == &json!(2) && hold(&set) == &json!("1"), "{set:#}");
    Ok(scene)
}

fn partition(set: &Value) -> &Value {
    &set["spec"]["updateStrategy"]["rollingUpdate"]["partition"]
}

fn hold(set: &Value) -> &Value {
    &set["metadata"]["annotations"]["claim-rollout.io/held-partition"]
}

/// Where the API server asks, and whom it trusts there.
async fn clients(cluster: &Cluster) -> anyhow::Result<Value> {
    let get = [
        "get",
        "mutatingwebhookconfiguration",
        "claim-rollout-webhook",
        "-o",
        "json",
    ];
    let configuration: Value = serde_json::from_str(&cluster.kubectl(&get, "").await?.stdout)?;
    let webhooks = configuration["webhooks"].as_array().context("webhooks")?;
    Ok(webhooks.iter().map(|webhook| webhook["clientConfig"].clone()).collect())
}

/// No Pod does anything here, so it is carried out by hand, as the account that it names.
async fn carry_out_the_hook(cluster: &Cluster) -> anyhow::Result<()> {
    let kubeconfig = cluster.kubeconfig_of(NAMESPACE, ACCOUNT).await?;
    let lifted = tokio::process::Command::new(binary()?)
        .args(hook(cluster).await?)
        .arg("--kubeconfig")
        .arg(kubeconfig)
        .output()
        .await?;
    let text = String::from_utf8(lifted.stdout)?;
    ensure!(
        lifted.status.success() && text == "statefulset.apps/held/web is held no longer\n",
        "{text}"
    );
    Ok(())
}

async fn nothing_is_left_but_the_definition(cluster: &Cluster) -> anyhow::Result<()> {
    let kinds = "deployments,services,secrets,serviceaccounts,roles,rolebindings,poddisruptionbudgets,configmaps,clusterroles,\
                 clusterrolebindings,priorityclasses,mutatingwebhookconfigurations,validatingwebhookconfigurations,\
                 validatingadmissionpolicies,validatingadmissionpolicybindings";
    let get = [
        "get",
        kinds,
        "-n",
        NAMESPACE,
        "-l",
        "app.kubernetes.io/name=claim-rollout",
        "-o",
        "name",
    ];
    let left = cluster.kubectl(&get, "").await?;
    ensure!(left.success && left.stdout.is_empty(), "{left:?}");
    let rollouts = cluster
        .kubectl(&["get", "crd", "claimrollouts.claim-rollout.io", "-o", "name"], "")
        .await?;
    ensure!(rollouts.success, "the ClaimRollouts went with the release");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_is_installed_upgraded_and_uninstalled_without_leaving_a_hold() -> anyhow::Result<()> {
    let cluster = Cluster::start(Options::default()).await?;
    let client = cluster.client().await?;
    let builtin = ["admission=builtin"];
    let install = ["install", "claim-rollout", "--create-namespace"];
    let installed = helm(&cluster, &install, &builtin).await?;
    ensure!(installed.success, "{installed:?}");
    let controllers = Controllers::of(&cluster).await?;
    let server = Server::begin(&cluster).await?;
    let before = clients(&cluster).await?;
    for client in [&before[0], &before[1]] {
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
    let get = [
        "get",
        "deployment",
        "claim-rollout-webhook",
        "-n",
        NAMESPACE,
        "-o",
        "jsonpath={.spec.replicas}",
    ];
    ensure!(cluster.kubectl(&get, "").await?.stdout == "3");

    // Its Service leads nowhere here, where nothing runs in Pods.
    server.stand_for_the_service(&cluster).await?;
    let scene = held(&cluster, &client, &controllers).await?;
    carry_out_the_hook(&cluster).await?;
    let set = scene.set().await?;
    ensure!(partition(&set) == &json!(1) && hold(&set).is_null(), "{set:#}");

    let uninstall = ["uninstall", "claim-rollout", "--no-hooks", "--namespace", NAMESPACE];
    let gone = cluster.run("helm", &uninstall, &[], "").await?;
    ensure!(gone.success, "{gone:?}");
    server.terminate().await?;
    nothing_is_left_but_the_definition(&cluster).await?;
    // The set is Kubernetes' alone again.
    scene.done(&["set", "env", "statefulset/web", "A=b"], "").await?;
    cluster.stop();
    Ok(())
}

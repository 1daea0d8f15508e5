//! Faults of an installation that the doctor finds.

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::examined::{CONFIGURATION, Examined};
use crate::world::installation::manifest_applied;
use crate::world::policy_host::deployed;
use crate::world::until;
use crate::world::webhook::Server;

const CLAIMS: &str = "mutatingwebhookconfiguration/claim-rollout-webhook[claim-rollout-claims.claim-rollout.io]";
const SETS: &str = "mutatingwebhookconfiguration/claim-rollout-webhook[claim-rollout.claim-rollout.io]";
const ASKED: &str = "admission of StatefulSets";

pub(super) async fn missing_definition_is_found(env: &mut Examined) -> anyhow::Result<()> {
    let definition = "customresourcedefinition/claimrollouts.claim-rollout.io";
    let older = json!([{"op": "remove", "path": "/spec/versions/0/additionalPrinterColumns/0"}]);
    env.edit(definition, &older).await?;
    env.fixed(("Error", definition)).await
}

pub(super) async fn wrong_webhook_is_found(env: &mut Examined) -> anyhow::Result<()> {
    let saved = env.saved(CONFIGURATION).await?;
    let others_alone = "request.userInfo.username in ['system:admin']";
    // Does what the command of the finding does, with an address in place of the Service.
    for (operations, finding) in [
        (
            json!([{"op": "remove", "path": "/webhooks/0/matchConditions"}]),
            ("Error", SETS),
        ),
        (
            json!([{"op": "remove", "path": "/webhooks/1"}]),
            ("Warning", CONFIGURATION),
        ),
        (
            json!([{"op": "remove", "path": "/webhooks/2"}]),
            ("Warning", CONFIGURATION),
        ),
        (
            json!([{"op": "replace", "path": "/webhooks/1/matchConditions/0/expression", "value": others_alone}]),
            ("Error", CLAIMS),
        ),
        (
            json!([{"op": "replace", "path": "/webhooks/0/clientConfig/url", "value": "https://127.0.0.1:1/validate/claim-rollout"}]),
            ("Error", ASKED),
        ),
    ] {
        env.edit(CONFIGURATION, &operations).await?;
        env.diagnosed(finding).await?;
        env.done(&["replace", "-f", "-"], &saved).await?;
        env.until_healthy().await?;
    }
    let open = json!([{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}]);
    env.edit(CONFIGURATION, &open).await?;
    env.fixed(("Error", SETS)).await?;

    let others = "validatingwebhookconfiguration/claim-rollout-webhook";
    let retention = env.saved(others).await?;
    env.done(&["delete", CONFIGURATION, others], "").await?;
    env.diagnosed(("Error", ASKED)).await?;
    for configuration in [&saved, &retention] {
        env.done(&["create", "-f", "-"], configuration).await?;
    }
    env.until_healthy().await?;

    let mut second: Value = serde_json::from_str(&saved)?;
    second["metadata"] = json!({"name": "clusterwide-claim-rollout"});
    let webhooks = second["webhooks"].as_array_mut().context("webhooks")?;
    webhooks.truncate(1);
    webhooks[0]["name"] = json!("clusterwide-claim-rollout.kubewarden.admission");
    env.done(&["create", "-f", "-"], &second.to_string()).await?;
    env.diagnosed(("Error", SETS)).await?;
    env.done(
        &["delete", "mutatingwebhookconfiguration/clusterwide-claim-rollout"],
        "",
    )
    .await?;
    env.until_healthy().await?;

    let untrusted = json!([{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]);
    env.edit(CONFIGURATION, &untrusted).await?;
    env.diagnosed(("Error", SETS)).await?;
    // What a restart does.
    Server::begin(&env.world.cluster).await?.terminate().await?;
    env.until_healthy().await
}

pub(super) async fn missing_guard_is_found(env: &mut Examined) -> anyhow::Result<()> {
    let policy = "validatingadmissionpolicy/claim-rollout-staged";
    let binding = "validatingadmissionpolicybinding/claim-rollout-staged";
    let other = "!(request.userInfo.username in [\"system:serviceaccount:other:claim-rollout-controller\"])";
    for (object, operations, subject) in [
        (
            policy,
            json!([{"op": "replace", "path": "/spec/matchConditions/0/expression", "value": other}]),
            policy,
        ),
        (
            policy,
            json!([{"op": "replace", "path": "/spec/failurePolicy", "value": "Ignore"}]),
            policy,
        ),
        (
            binding,
            json!([{"op": "replace", "path": "/spec/validationActions", "value": ["Audit"]}]),
            binding,
        ),
    ] {
        env.edit(object, &operations).await?;
        env.fixed(("Error", subject)).await?;
    }
    for object in [binding, policy] {
        env.done(&["delete", object], "").await?;
        env.fixed(("Error", object)).await?;
    }
    let all = "validatingadmissionpolicies,validatingadmissionpolicybindings";
    env.done(&["delete", all, "--all"], "").await?;
    env.fixed(("Warning", "validatingadmissionpolicies")).await
}

pub(super) async fn missing_controller_rights_are_found(env: &mut Examined) -> anyhow::Result<()> {
    let role = "clusterrole/claim-rollout-controller";
    let saved: Value = serde_json::from_str(&env.saved(role).await?)?;
    let rules = saved["rules"].as_array().context("rules")?;
    let events = rules
        .iter()
        .position(|rule| rule["resources"] == json!(["events"]))
        .context("events")?;
    let without = json!([{"op": "remove", "path": format!("/rules/{events}")}]);
    env.edit(role, &without).await?;
    env.fixed(("Error", "serviceaccount/claim-rollout/claim-rollout-controller"))
        .await
}

/// The Deployment shows that the controller runs with `--openkruise`.
pub(super) async fn missing_openkruise_parts_are_found(env: &mut Examined) -> anyhow::Result<()> {
    let labels = json!({"app.kubernetes.io/name": "claim-rollout", "app.kubernetes.io/component": "controller"});
    let metadata = json!({"name": "claim-rollout-controller", "namespace": "claim-rollout", "labels": labels});
    let container = json!({"name": "controller", "image": "none", "args": ["controller", "--openkruise"]});
    let pod = json!({"serviceAccountName": "claim-rollout-controller", "containers": [container]});
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata,
        "spec": {
            "replicas": 0, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    });
    manifest_applied(&env.world.cluster, "openkruise.yaml").await?;
    env.done(&["create", "-f", "-"], &deployment.to_string()).await?;
    env.until_healthy().await?;

    let account = "serviceaccount/claim-rollout/claim-rollout-controller";
    let without = json!([{"op": "remove", "path": "/rules/0"}]);
    env.edit("clusterrole/claim-rollout-controller-openkruise", &without)
        .await?;
    env.fixed(("Error", account)).await?;
    let policy = "validatingadmissionpolicy/claim-rollout-openkruise";
    env.done(&["delete", policy], "").await?;
    env.fixed(("Error", policy)).await?;

    let delete = ["delete", "-n", "claim-rollout", "deployment/claim-rollout-controller"];
    env.done(&delete, "").await?;
    let manifest = deployed("openkruise.yaml");
    env.done(&["delete", "-f", &manifest.to_string_lossy()], "").await?;
    env.until_healthy().await
}

pub(super) async fn missing_leader_is_found(env: &mut Examined) -> anyhow::Result<()> {
    let lease = ("Error", "lease/claim-rollout/claim-rollout-controller");
    let mut controller = env.world.controller.take().context("a controller")?;
    controller.terminate().await?;
    env.diagnosed(lease).await?;
    env.done(&["delete", "-n", "claim-rollout", "lease/claim-rollout-controller"], "")
        .await?;
    env.diagnosed(lease).await?;
    env.lead().await?;
    env.until_healthy().await
}

pub(super) async fn user_without_rights_gets_an_error(env: &mut Examined) -> anyhow::Result<()> {
    let blind = env.run(&["doctor", "--kubeconfig", &kubeconfig(env)?]).await?;
    ensure!(blind.code == Some(2) && blind.stdout.is_empty(), "{blind:?}");
    ensure!(
        blind.stderr.starts_with("error: statefulsets.apps is forbidden: "),
        "{blind:?}"
    );

    let sets = [
        "create",
        "clusterrole",
        "sets",
        "--verb=list",
        "--resource=statefulsets.apps,persistentvolumeclaims",
    ];
    env.done(&sets, "").await?;
    env.done(
        &[
            "create",
            "clusterrolebinding",
            "bob",
            "--clusterrole=sets",
            "--user=bob",
        ],
        "",
    )
    .await?;
    let kubeconfig = kubeconfig(env)?;
    let arguments = ["doctor", "-o", "json", "--kubeconfig", &kubeconfig];
    let (_, items) = until(
        "bob to see sets",
        async || env.printed(&arguments).await,
        |(code, _)| *code == Some(0),
    )
    .await?;
    let subjects: Vec<&str> = items.iter().filter_map(|item| item["subject"].as_str()).collect();
    let expected = [
        ASKED,
        "deployments",
        "rights",
        "policies of Kubewarden",
        "validatingadmissionpolicies",
        "storageclasses",
        "customresourcedefinitions",
        "webhook configurations",
        "leases",
        "claimrollouts",
        "configmaps",
        "secrets",
    ];
    ensure!(subjects == expected, "{items:#?}");
    ensure!(items.iter().all(|item| item["severity"] == "Warning"), "{items:#?}");
    Ok(())
}

/// The kubeconfig of a user without rights.
fn kubeconfig(env: &Examined) -> anyhow::Result<String> {
    Ok(env.world.cluster.kubeconfig_for("bob", &[])?.display().to_string())
}

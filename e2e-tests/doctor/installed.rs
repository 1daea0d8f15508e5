//! Faults of an installation that the doctor finds.

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::stage::{CONFIGURATION, Stage};
use crate::built_in::Server;

const SETS: &str = "mutatingwebhookconfiguration/claim-rollout-webhook[claim-rollout.claim-rollout.io]";
const ASKED: &str = "admission of StatefulSets";

pub(super) async fn missing_definition_is_found(stage: &mut Stage) -> anyhow::Result<()> {
    let definition = "customresourcedefinition/claimrollouts.claim-rollout.io";
    let older = json!([{"op": "remove", "path": "/spec/versions/0/additionalPrinterColumns/0"}]);
    stage.edit(definition, &older).await?;
    stage.fixed(("Error", definition)).await
}

pub(super) async fn wrong_webhook_is_found(stage: &mut Stage) -> anyhow::Result<()> {
    let saved = stage.saved(CONFIGURATION).await?;
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
            json!([{"op": "replace", "path": "/webhooks/0/clientConfig/url", "value": "https://127.0.0.1:1/validate/claim-rollout"}]),
            ("Error", ASKED),
        ),
    ] {
        stage.edit(CONFIGURATION, &operations).await?;
        stage.diagnosed(finding).await?;
        stage.done(&["replace", "-f", "-"], &saved).await?;
        stage.until_healthy().await?;
    }
    let open = json!([{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}]);
    stage.edit(CONFIGURATION, &open).await?;
    stage.fixed(("Error", SETS)).await?;

    let others = "validatingwebhookconfiguration/claim-rollout-webhook";
    let retention = stage.saved(others).await?;
    stage.done(&["delete", CONFIGURATION, others], "").await?;
    stage.diagnosed(("Error", ASKED)).await?;
    for configuration in [&saved, &retention] {
        stage.done(&["create", "-f", "-"], configuration).await?;
    }
    stage.until_healthy().await?;

    let mut second: Value = serde_json::from_str(&saved)?;
    second["metadata"] = json!({"name": "clusterwide-claim-rollout"});
    let webhooks = second["webhooks"].as_array_mut().context("webhooks")?;
    webhooks.truncate(1);
    webhooks[0]["name"] = json!("clusterwide-claim-rollout.kubewarden.admission");
    stage.done(&["create", "-f", "-"], &second.to_string()).await?;
    stage.diagnosed(("Error", SETS)).await?;
    stage
        .done(
            &["delete", "mutatingwebhookconfiguration/clusterwide-claim-rollout"],
            "",
        )
        .await?;
    stage.until_healthy().await?;

    let untrusted = json!([{"op": "remove", "path": "/webhooks/0/clientConfig/caBundle"}]);
    stage.edit(CONFIGURATION, &untrusted).await?;
    stage.diagnosed(("Error", SETS)).await?;
    // What a restart does.
    Server::begin(&stage.cluster).await?.terminate().await?;
    stage.until_healthy().await
}

pub(super) async fn missing_guard_is_found(stage: &mut Stage) -> anyhow::Result<()> {
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
        stage.edit(object, &operations).await?;
        stage.fixed(("Error", subject)).await?;
    }
    for object in [binding, policy] {
        stage.done(&["delete", object], "").await?;
        stage.fixed(("Error", object)).await?;
    }
    let all = "validatingadmissionpolicies,validatingadmissionpolicybindings";
    stage.done(&["delete", all, "--all"], "").await?;
    stage.fixed(("Warning", "validatingadmissionpolicies")).await
}

pub(super) async fn missing_controller_rights_are_found(stage: &mut Stage) -> anyhow::Result<()> {
    let role = "clusterrole/claim-rollout-controller";
    let saved: Value = serde_json::from_str(&stage.saved(role).await?)?;
    let rules = saved["rules"].as_array().context("rules")?;
    let events = rules
        .iter()
        .position(|rule| rule["resources"] == json!(["events"]))
        .context("events")?;
    let without = json!([{"op": "remove", "path": format!("/rules/{events}")}]);
    stage.edit(role, &without).await?;
    stage
        .fixed(("Error", "serviceaccount/claim-rollout/claim-rollout-controller"))
        .await
}

pub(super) async fn missing_leader_is_found(stage: &mut Stage) -> anyhow::Result<()> {
    let lease = ("Error", "lease/claim-rollout/claim-rollout-controller");
    let mut controller = stage.controller.take().context("a controller")?;
    controller.terminate().await?;
    stage.diagnosed(lease).await?;
    stage
        .done(&["delete", "-n", "claim-rollout", "lease/claim-rollout-controller"], "")
        .await?;
    stage.diagnosed(lease).await?;
    stage.lead().await?;
    stage.until_healthy().await
}

pub(super) async fn user_without_rights_gets_an_error(stage: &mut Stage) -> anyhow::Result<()> {
    let blind = stage.run(&["doctor", "--kubeconfig", &kubeconfig(stage)?]).await?;
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
    stage.done(&sets, "").await?;
    stage
        .done(
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
    let output = crate::cluster::eventually("bob to see sets", std::time::Duration::from_secs(30), async || {
        let output = stage
            .run(&["doctor", "-o", "json", "--kubeconfig", &kubeconfig(stage)?])
            .await?;
        Ok((output.code == Some(0)).then_some(output))
    });
    let document: Value = serde_json::from_str(&output.await?.stdout)?;
    let items = document["items"].as_array().context("items")?;
    let subjects: Vec<&str> = items.iter().filter_map(|item| item["subject"].as_str()).collect();
    let expected = [
        ASKED,
        "rights",
        "validatingadmissionpolicies",
        "storageclasses",
        "customresourcedefinitions",
        "webhook configurations",
        "leases",
        "claimrollouts",
    ];
    ensure!(subjects == expected, "{document:#}");
    ensure!(items.iter().all(|item| item["severity"] == "Warning"), "{document:#}");
    Ok(())
}

/// The kubeconfig of a user without rights.
fn kubeconfig(stage: &Stage) -> anyhow::Result<String> {
    Ok(stage.cluster.kubeconfig_for("bob", &[])?.display().to_string())
}

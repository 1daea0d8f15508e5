//! `plan` as a dry run: what it prints is what the API server answers to the request that follows.

use anyhow::{Context as _, ensure};
use serde_json::json;

use super::plans::{plan, plan_with};
use super::{prepare, run};
use crate::world::namespace::PATIENCE;
use crate::world::web::Web;
use crate::world::{World, eventually};

/// A policy of somebody else: at most three replicas in one namespace.
fn at_most_three_replicas(namespace: &str) -> String {
    let rules = json!([{"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["statefulsets"]}]);
    let selector = json!({"matchLabels": {"kubernetes.io/metadata.name": namespace}});
    let version = "admissionregistration.k8s.io/v1";
    let items = json!([
        {"apiVersion": version, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": namespace}, "spec": {
            "matchConstraints": {"resourceRules": rules, "namespaceSelector": selector},
            "validations": [{"expression": "object.spec.replicas <= 3", "message": "three are enough"}]}},
        {"apiVersion": version, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": namespace},
            "spec": {"policyName": namespace, "validationActions": ["Deny"]}},
    ]);
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

pub(super) async fn plan_has_the_denial_of_another_policy(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "planned-denied").await?;
    ns.target(&at_most_three_replicas(&ns.namespace)).await?;
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

/// The values of the manifest that the API server does not store, as charts write them.
fn with_zero_values(web: &Web) -> Web {
    let mount = json!({"name": "data", "mountPath": "/data", "subPath": "", "readOnly": false});
    let pod = json!({"hostNetwork": false, "nodeSelector": {}, "tolerations": []});
    web.container(&json!({"volumeMounts": [mount]}))
        .spec(&json!({"template": {"spec": pod}}))
}

pub(super) async fn plan_with_zero_values_restarts_no_pod(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "planned-zeros").await?;
    let pods = ns.pods().await?;
    let same = run(&ns, &["plan", "-f", "-"], &with_zero_values(&Web::replicas(3))).await?;
    ensure!(
        same.code == Some(0) && same.stdout.ends_with("\nNothing to do.\n"),
        "{same:?}"
    );
    let new = with_zero_values(&Web::replicas(3).size("2Gi"));
    let (_, planned) = plan(&ns, &new).await?;
    ensure!(planned["pods"] == "KeepRunning", "{planned:#}");
    ns.target(&new).await?;
    ns.until_complete(3, "2Gi").await?;
    ensure!(ns.pods().await? == pods, "no Pod was to be restarted");
    let (_, planned) = plan(&ns, &new.image("2")).await?;
    ensure!(planned["pods"] != "KeepRunning", "{planned:#}");
    Ok(())
}

pub(super) async fn plan_of_one_more_replica_goes_through(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "planned-scaled").await?;
    let new = Web::replicas(4).size("2Gi");
    let text = run(&ns, &["plan", "-f", "-"], &new).await?;
    ensure!(
        text.code == Some(0)
            && text
                .stdout
                .contains("-      data-web-3   -            created   created from"),
        "{text:?}"
    );
    ns.target(&new).await?;
    ns.until_complete(4, "2Gi").await
}

pub(super) async fn plan_without_the_right_to_patch_is_decided_here(env: &World) -> anyhow::Result<()> {
    let ns = prepare(env, "planned-by-viewer").await?;
    let view = ["create", "rolebinding", "carol", "--user=carol", "--clusterrole=view"];
    ns.done(&view, "").await?;
    let kubeconfig = ns.cluster.kubeconfig_for("carol", &[])?;
    let kubeconfig = kubeconfig.to_string_lossy();
    for (new, verb) in [
        (Web::replicas(3).size("2Gi"), "patch"),
        (Web::replicas(3).size("2Gi").named("other"), "create"),
    ] {
        let (_, planned) = plan_with(&ns, &["--kubeconfig", &*kubeconfig], &new).await?;
        let why = format!("you may not {verb} StatefulSets in namespace {}", ns.namespace);
        ensure!(planned["verdict"]["decidedHere"] == why, "{planned:#}");
    }
    let output = run(
        &ns,
        &["plan", "-f", "-", "--kubeconfig", &*kubeconfig],
        &Web::replicas(3).size("2Gi"),
    )
    .await?;
    let line = "decided here, without the other policies and defaults of the API server: you may not patch";
    ensure!(output.stdout.contains(line), "{output:?}");
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

pub(super) async fn plan_of_a_new_set_creates_nothing(env: &World) -> anyhow::Result<()> {
    let ns = env.managed("planned-new").await?;
    let (output, planned) = plan(&ns, &Web::replicas(3)).await?;
    ensure!(
        output.code == Some(0) && planned["verdict"] == json!({"outcome": "Created", "warnings": []}),
        "{planned:#}"
    );
    let sets = ns.done(&["get", "sts,pods,pvc", "-o", "name"], "").await?;
    ensure!(sets.stdout.is_empty(), "{sets:?}");
    Ok(())
}

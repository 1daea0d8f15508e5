//! The StatefulSet is replaced by one with the desired templates (DESIGN.md, section 7).

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::namespace::{Environment, PATIENCE, TestNamespace, manifest, text};
use crate::cluster::eventually;

/// The namespace of the journals.
const JOURNALS: &str = "--lease-namespace=claim-rollout";

/// The manifest of a StatefulSet that is to be replaced.
fn replaced(replicas: u32, size: &str) -> String {
    let policy = "update-policy: InPlace";
    manifest(replicas, size).replace(
        policy,
        &format!("{policy}\n    claim-rollout.io/replace-set: WhenComplete"),
    )
}

/// A namespace with a StatefulSet, and a controller that may replace it.
async fn prepare<'a>(env: &'a Environment, namespace: &str, replicas: u32) -> anyhow::Result<TestNamespace<'a>> {
    let mut ns = TestNamespace::new(&env.cluster, &env.client, namespace).await?;
    for right in crate::policy_host::documents("replace-sets.yaml")? {
        env.cluster.kubectl(&["apply", "-f", "-"], &right.to_string()).await?;
    }
    ns.start_controller(env, &[JOURNALS]).await?;
    ns.target(&replaced(replicas, "1Gi")).await?;
    ns.settled().await?;
    Ok(ns)
}

/// The PVCs without what the controllers of Kubernetes write.
fn uids(objects: &[Value]) -> Vec<&Value> {
    objects.iter().map(|object| &object["metadata"]["uid"]).collect()
}

/// The field managers, with what they own, without times and our own.
fn managers(set: &Value) -> Vec<Value> {
    let entries = set["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let entries = entries.into_iter().filter(|entry| entry["subresource"] != "status");
    let mut entries: Vec<Value> = entries
        .map(|entry| json!([entry["manager"], entry["operation"], entry["fieldsV1"]["f:spec"]]))
        .collect();
    entries.sort_by_key(ToString::to_string);
    entries
}

/// Waits until the set is replaced, and checks that nothing else has changed.
async fn until_replaced(ns: &TestNamespace<'_>, before: &Value, size: &str) -> anyhow::Result<Value> {
    let mut last = Value::Null;
    let replaced = eventually("the set to be replaced", PATIENCE, async || {
        let rollout = ns.rollout().await?;
        last = rollout["status"].clone();
        let found = &rollout["status"]["replacement"]["phase"];
        Ok((found == "Replaced").then_some(rollout))
    });
    let replaced = replaced.await.with_context(|| format!("{last:#}\n{}", ns.log()));
    let rollout = replaced?;
    let set = ns.settled().await?;
    let metadata = &set["metadata"];
    ensure!(metadata["uid"] != before["metadata"]["uid"], "the same set");
    ensure!(rollout["spec"]["setRef"]["uid"] == metadata["uid"], "{rollout:#}");
    ensure!(
        rollout["metadata"]["ownerReferences"][0]["uid"] == metadata["uid"],
        "{rollout:#}"
    );
    ensure!(metadata["finalizers"].is_null(), "{metadata:#}");
    for key in ["staged", "phase", "ready"] {
        let value = &metadata["annotations"][format!("claim-rollout.io/{key}")];
        ensure!(value.is_null(), "{key}: {value}");
    }
    let requests = &set["spec"]["volumeClaimTemplates"][0]["spec"]["resources"]["requests"]["storage"];
    ensure!(requests == size, "{requests}");
    for pointer in [
        "/spec/replicas",
        "/spec/updateStrategy",
        "/spec/template",
        "/status/updateRevision",
    ] {
        let (now, then) = (set.pointer(pointer), before.pointer(pointer));
        ensure!(now == then, "{pointer}: {now:?}, before {then:?}");
    }
    let (now, then) = (managers(&set), managers(before));
    ensure!(now == then, "field managers: {now:#?}, before {then:#?}");
    Ok(set)
}

pub(super) async fn complete_set_is_replaced_and_nothing_else_changes(env: &Environment) -> anyhow::Result<()> {
    let ns = prepare(env, "replacing", 3).await?;
    let (pods, claims) = (ns.pods().await?, ns.claims().await?);
    let grown = replaced(3, "2Gi");
    ns.target(&grown).await?;
    let before = ns.set().await?;
    until_replaced(&ns, &before, "2Gi").await?;
    ensure!(ns.pods().await? == pods, "Pods restarted");
    ensure!(uids(&ns.claims().await?) == uids(&claims), "PVCs were created");
    let events = ns.events().await?;
    ensure!(events.get("StatefulSetReplaced") == Some(&1), "{events:?}");
    let journals = env
        .cluster
        .kubectl(
            &[
                "get",
                "secrets",
                "--namespace=claim-rollout",
                "--selector=claim-rollout.io/journal",
                "-o=name",
            ],
            "",
        )
        .await?;
    ensure!(journals.stdout.is_empty(), "{}", journals.stdout);

    // What every tool asks next.
    let diff = ns.kubectl(&["diff", "-f", "-"], &grown).await?;
    ensure!(
        diff.success && diff.stdout.is_empty(),
        "{} {}",
        diff.stdout,
        diff.stderr
    );
    let version = text(&ns.set().await?["metadata"]["resourceVersion"]);
    ns.target(&grown).await?;
    let now = text(&ns.set().await?["metadata"]["resourceVersion"]);
    ensure!(now == version, "an apply wrote");
    Ok(())
}

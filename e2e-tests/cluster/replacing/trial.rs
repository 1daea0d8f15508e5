//! A StatefulSet that is to be replaced, and what must be the same afterwards.

use anyhow::{Context as _, ensure};
use base64::Engine as _;
use serde_json::{Value, json};

use crate::world::World;
use crate::world::installation::{Controller, JOURNALS};
use crate::world::namespace::TestNamespace;
use crate::world::web::Web;

/// The manifest of a StatefulSet that is to be replaced.
pub(crate) fn replaced(replicas: u32, size: &str) -> Web {
    let web = Web::replicas(replicas).size(size);
    web.annotated("replace-set", "WhenComplete")
}

/// A namespace with a StatefulSet, and a controller that may replace it.
pub(crate) async fn prepare<'a>(env: &'a World, namespace: &str, replicas: u32) -> anyhow::Result<TestNamespace<'a>> {
    prepare_with(env, namespace, &replaced(replicas, "1Gi")).await
}

/// The same for the StatefulSet of this manifest.
pub(crate) async fn prepare_with<'a>(
    env: &'a World,
    namespace: &str,
    manifest: &Web,
) -> anyhow::Result<TestNamespace<'a>> {
    let mut ns = env.namespace(namespace).await?;
    ns.start_controller(env, &[JOURNALS]).await?;
    ns.target(manifest).await?;
    ns.settled().await?;
    Ok(ns)
}

/// Starts a controller for a namespace that keeps its journals where the shipped one does.
pub(crate) async fn start_controller(env: &World, namespace: &str) -> anyhow::Result<Controller> {
    env.controllers.start(&["--namespace", namespace, JOURNALS]).await
}

/// The journals of the StatefulSets of this namespace.
pub(crate) async fn journals(ns: &TestNamespace<'_>) -> anyhow::Result<Vec<Value>> {
    let found = journal_secrets(ns).await?.into_iter();
    Ok(found.map(|(_, journal)| journal).collect())
}

/// The Secrets with the journals of this namespace, and the journals. Other scenarios have theirs beside them.
pub(crate) async fn journal_secrets(ns: &TestNamespace<'_>) -> anyhow::Result<Vec<(Value, Value)>> {
    let get = "get secrets --namespace=claim-rollout --selector=claim-rollout.io/journal -o=json";
    let secrets: Value = ns.cluster.read(get).await?;
    let mut found = Vec::new();
    for secret in secrets["items"].as_array().context("items")? {
        let data = secret["data"]["journal"].as_str().context("a journal")?;
        let journal: Value = serde_json::from_slice(&base64::engine::general_purpose::STANDARD.decode(data)?)?;
        if journal["namespace"] == ns.namespace.as_str() {
            found.push((secret.clone(), journal));
        }
    }
    Ok(found)
}

/// The PVCs without what the controllers of Kubernetes write.
pub(crate) fn uids(objects: &[Value]) -> Vec<&Value> {
    objects.iter().map(|object| &object["metadata"]["uid"]).collect()
}

/// The field managers, with what they own, without times and our own.
pub(crate) fn managers(set: &Value) -> Vec<Value> {
    let entries = set["metadata"]["managedFields"].as_array().cloned().unwrap_or_default();
    let is_users = |entry: &Value| entry["subresource"] != "status" && entry["manager"] != "claim-rollout";
    let entries = entries.into_iter().filter(is_users);
    let mut entries: Vec<Value> = entries
        .map(|entry| json!([entry["manager"], entry["operation"], entry["fieldsV1"]["f:spec"]]))
        .collect();
    entries.sort_by_key(ToString::to_string);
    entries
}

/// Waits until the set is replaced, and checks that nothing else has changed.
pub(crate) async fn until_replaced(ns: &TestNamespace<'_>, before: &Value, size: &str) -> anyhow::Result<Value> {
    let is_over = |rollout: &Value| rollout["status"]["replacement"]["phase"] == "Replaced";
    let rollout = ns.until_reported("the set to be replaced", is_over).await?;
    let set = ns.settled().await?;
    let uid = &set["metadata"]["uid"];
    ensure!(rollout["spec"]["setRef"]["uid"] == *uid, "{rollout:#}");
    ensure!(rollout["metadata"]["ownerReferences"][0]["uid"] == *uid, "{rollout:#}");
    is_replaced(&set, before, size)?;
    let (now, then) = (managers(&set), managers(before));
    ensure!(now == then, "field managers: {now:#?}, before {then:#?}");
    Ok(set)
}

/// Checks that this is another set than before, with this size, and as before otherwise.
pub(crate) fn is_replaced(set: &Value, before: &Value, size: &str) -> anyhow::Result<()> {
    let metadata = &set["metadata"];
    ensure!(metadata["uid"] != before["metadata"]["uid"], "the same set");
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
    Ok(())
}

//! The controller of claim-rollout grows PVCs of Advanced StatefulSets with `update-policy: InPlace`. OpenKruise's own gate
//! is off.

use std::time::Duration;

use anyhow::ensure;
use serde_json::{Value, json};

use super::beside::{capacities, kind, until_settled, writes};
use super::manager::{DELETING, ROLLING, USER as KRUISE, advanced};
use crate::world::installation::USER;
use crate::world::namespace::{PATIENCE, TestNamespace};
use crate::world::web::Web;
use crate::world::{Entry, World, at_rest, kinds};

/// A namespace in which the policy is not called, only the guard.
pub(super) const GUARDED: &str = "kruise-guarded";
/// Who writes nothing for this long does not write again and again.
const QUIET: Duration = Duration::from_secs(10);
const SETS: &str = "statefulsets.apps.kruise.io";

/// A namespace with an Advanced StatefulSet whose Pods are Ready, and with a controller for it.
async fn prepare<'a>(env: &'a World, namespace: &str, manifest: &Web) -> anyhow::Result<TestNamespace<'a>> {
    let mut ns = env.namespace(namespace).await?;
    ns.target(manifest).await?;
    until_settled(&ns, |_| true).await?;
    ns.start_controller(env, &["--openkruise"]).await?;
    Ok(ns)
}

/// Waits for this reason of the ClaimRollout at the live templates, and returns it.
async fn until_reported(ns: &TestNamespace<'_>, reason: &str, size: &str) -> anyhow::Result<Value> {
    let is_reported = |rollout: &Value| {
        let ready = rollout["status"]["conditions"].as_array().into_iter().flatten();
        let ready = ready.filter(|condition| condition["type"] == "Ready" && condition["reason"] == reason);
        let asked = &rollout["spec"]["templates"][0]["spec"]["resources"]["requests"]["storage"];
        let is_new = rollout["status"]["updateRevision"] == rollout["spec"]["revision"];
        is_new && ready.count() == 1 && asked == size
    };
    ns.until(&format!("{reason} of {size}"), "claimrollout/kruise", is_reported)
        .await
}

/// Waits until neither controller writes, and returns the writes of ours. OpenKruise has written to no PVC.
async fn until_rest(ns: &TestNamespace<'_>) -> anyhow::Result<Vec<Entry>> {
    let all = at_rest("both controllers", [QUIET, PATIENCE], async || writes(ns).await).await?;
    println!("{}: {}", ns.namespace, kinds(&all, kind));
    for entry in all
        .iter()
        .filter(|entry| entry.user == KRUISE && entry.verb != "create")
    {
        ensure!(entry.resource != "persistentvolumeclaims", "{entry:?}");
    }
    let (ours, _): (Vec<Entry>, _) = all.into_iter().partition(|entry| entry.user == USER);
    for entry in &ours {
        ensure!(
            entry.resource != "statefulsets" && entry.resource != "pods",
            "{entry:?}"
        );
        ensure!(entry.succeeded() || entry.code == 409, "{entry:?}");
    }
    Ok(ours)
}

/// The names of the PVCs that were written, in this order. A write that came too late is repeated.
fn written(entries: &[Entry]) -> Vec<&str> {
    let claims = entries
        .iter()
        .filter(|entry| entry.resource == "persistentvolumeclaims" && entry.succeeded());
    claims.map(|entry| &*entry.name).collect()
}

pub(super) async fn pvcs_grow_and_no_pod_restarts(env: &World) -> anyhow::Result<()> {
    let sized = |replicas, size| advanced("kruise", DELETING, replicas, size).policy("InPlace");
    let ns = prepare(env, "kruise-grown", &sized(3, "1Gi")).await?;
    let pods = ns.pods().await?;
    ns.target(&sized(3, "2Gi")).await?;
    let rollout = until_reported(&ns, "Complete", "2Gi").await?;
    let owner = &rollout["metadata"]["ownerReferences"][0];
    ensure!(
        (&owner["apiVersion"], &owner["kind"]) == (&json!("apps.kruise.io/v1beta1"), &json!("StatefulSet")),
        "{owner}"
    );
    ensure!(capacities(&ns).await? == ["2Gi"; 3]);
    let ours = until_rest(&ns).await?;
    let downwards = ["data-kruise-2", "data-kruise-1", "data-kruise-0"];
    // Before the change, each PVC got the label with the revision.
    ensure!(written(&ours).ends_with(&downwards), "{:?}", written(&ours));
    ensure!(ns.pods().await? == pods, "a Pod restarted");

    // A new replica has the size already.
    ns.target(&sized(4, "2Gi")).await?;
    until_settled(&ns, |_| true).await?;
    until_reported(&ns, "Complete", "2Gi").await?;
    let more = until_rest(&ns).await?;
    ensure!(capacities(&ns).await? == ["2Gi"; 4]);
    let since = written(&more[ours.len()..]);
    ensure!(since.iter().all(|claim| *claim == "data-kruise-3"), "{since:?}");

    // Without the annotation, nothing follows.
    let plain = advanced("kruise", DELETING, 4, "3Gi");
    ns.target(&plain).await?;
    until_reported(&ns, "Withdrawn", "3Gi").await?;
    ensure!(written(&until_rest(&ns).await?).len() == written(&more).len());
    ensure!(capacities(&ns).await? == ["2Gi"; 4]);
    ns.writes_since(0).await.map(drop)
}

pub(super) async fn pods_are_left_to_openkruise(env: &World) -> anyhow::Result<()> {
    let manifest = |size| advanced("kruise", DELETING, 2, size).policy("InPlace");
    let ns = prepare(env, "kruise-pods", &manifest("1Gi")).await?;
    let pods = ns.pods().await?;
    ns.target(&manifest("2Gi").image("2")).await?;
    until_reported(&ns, "Complete", "2Gi").await?;
    until_settled(&ns, |_| true).await?;
    until_rest(&ns).await?;
    ensure!(capacities(&ns).await? == ["2Gi"; 2]);
    let now = ns.pods().await?;
    ensure!(now.iter().all(|pod| !pods.contains(pod)), "{now:?}, before {pods:?}");
    Ok(())
}

pub(super) async fn set_that_openkruise_rolls_out_is_stalled(env: &World) -> anyhow::Result<()> {
    let sized = |strategy, size| advanced("kruise", strategy, 2, size).policy("InPlace");
    let ns = prepare(env, "kruise-stalled", &sized(ROLLING, "1Gi")).await?;
    let reserved = sized(DELETING, "2Gi").spec(&json!({"reserveOrdinals": [5]}));
    for stalled in [sized(ROLLING, "2Gi"), reserved] {
        ns.target(&stalled).await?;
        until_reported(&ns, "NotSupported", "2Gi").await?;
        let ours = until_rest(&ns).await?;
        ensure!(ours.iter().all(|entry| entry.resource != "persistentvolumeclaims"));
    }
    let unreserved = r#"{"spec": {"reserveOrdinals": null}}"#;
    ns.typed(&format!("patch {SETS} kruise --type=merge -p '{unreserved}'"))
        .await?;
    until_reported(&ns, "Complete", "2Gi").await?;
    ensure!(capacities(&ns).await? == ["2Gi"; 2]);
    Ok(())
}

pub(super) async fn who_may_not_patch_pvcs_is_denied_by_policy_and_guard(env: &World) -> anyhow::Result<()> {
    for (namespace, by) in [
        ("kruise-denied", "cannot patch persistentvolumeclaims"),
        (GUARDED, "may not patch"),
    ] {
        let ns = env.namespace(namespace).await?;
        let verbs = "--verb=get,list,create,patch,update";
        ns.typed(&format!("create role sets {verbs} --resource={SETS}")).await?;
        ns.typed("create rolebinding bob --user=bob --role=sets").await?;
        let plain = |size| advanced("kruise", DELETING, 0, size);
        let as_bob = async |manifest: Web| {
            let output = ns.kubectl(&["apply", "--as=bob", "-f", "-"], &manifest).await?;
            anyhow::Ok(output.stderr)
        };
        let denied = as_bob(plain("1Gi").policy("InPlace")).await?;
        ensure!(denied.contains(by), "{namespace}, created: {denied}");
        ensure!(as_bob(plain("1Gi")).await?.is_empty());
        let denied = as_bob(plain("1Gi").policy("InPlace")).await?;
        ensure!(denied.contains(by), "{namespace}, switched on: {denied}");
        ensure!(as_bob(plain("2Gi")).await?.is_empty());
        ns.target(&plain("2Gi").policy("InPlace")).await?;
        let denied = as_bob(plain("3Gi").policy("InPlace")).await?;
        ensure!(denied.contains(by), "{namespace}, grown: {denied}");
        ensure!(as_bob(plain("2Gi").policy("InPlace").image("2")).await?.is_empty());
        ns.typed(&format!("delete {SETS} kruise")).await?;
    }
    Ok(())
}

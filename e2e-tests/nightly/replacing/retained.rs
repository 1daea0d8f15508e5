//! `whenDeleted: Delete`, and PVCs of a scale-down that have no Pod any more.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context as _, ensure};
use futures::StreamExt as _;
use kube::api::{Api, ApiResource, DynamicObject, WatchEvent, WatchParams};
use kube::core::GroupVersionKind;
use serde_json::{Value, json};

use crate::cluster::replacing::kept::{Before, until_reported};
use crate::cluster::replacing::trial::{prepare_with, replaced, until_replaced};
use crate::world::namespace::{PATIENCE, TestNamespace, text};
use crate::world::web::Web;
use crate::world::{World, eventually};

/// Every version of the objects of a kind, in order.
struct Versions {
    seen: Arc<Mutex<Vec<Value>>>,
    task: tokio::task::JoinHandle<()>,
}

impl Versions {
    async fn of(ns: &TestNamespace<'_>, group: &str, kind: &str) -> anyhow::Result<Self> {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, "v1", kind));
        let api: Api<DynamicObject> = Api::namespaced_with(ns.client.clone(), &ns.namespace, &resource);
        let mut events = api.watch(&WatchParams::default().timeout(290), "0").await?.boxed();
        let seen: Arc<Mutex<Vec<Value>>> = Arc::default();
        let noted = Arc::clone(&seen);
        let task = tokio::spawn(async move {
            while let Some(Ok(event)) = events.next().await {
                if let WatchEvent::Added(object) | WatchEvent::Modified(object) | WatchEvent::Deleted(object) = event {
                    let object = serde_json::to_value(object).unwrap_or_default();
                    noted.lock().unwrap_or_else(PoisonError::into_inner).push(object);
                }
            }
        });
        Ok(Self { seen, task })
    }

    fn so_far(&self) -> Vec<Value> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Versions {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn owner(claim: &Value) -> String {
    text(&claim["metadata"]["ownerReferences"][0]["uid"])
}

/// A StatefulSet whose PVCs depend on it.
fn retained(replicas: u32, size: &str) -> Web {
    let policy = json!({"whenDeleted": "Delete", "whenScaled": "Retain"});
    replaced(replicas, size).spec(&json!({"persistentVolumeClaimRetentionPolicy": policy}))
}

/// Waits until the PVCs have these owners, `-` for none.
async fn until_owned_by(ns: &TestNamespace<'_>, owners: &[&str]) -> anyhow::Result<()> {
    let expected: Vec<&str> = owners
        .iter()
        .map(|owner| if *owner == "-" { "" } else { owner })
        .collect();
    let are_owned = |claims: &[Value]| claims.iter().map(owner).collect::<Vec<_>>() == expected;
    ns.until_all("the owners of the PVCs", "pvc", are_owned).await.map(drop)
}

pub(super) async fn retention_is_guarded_and_claims_without_pods_stay(env: &World) -> anyhow::Result<()> {
    let ns = prepare_with(env, "retained", &retained(3, "1Gi")).await?;
    let uid = |set: &Value| text(&set["metadata"]["uid"]);
    let old = uid(&ns.set().await?);
    ns.target(&retained(2, "1Gi")).await?;
    ns.settled().await?;
    // The PVC of the third replica has no Pod any more, and is owned by the StatefulSet.
    until_owned_by(&ns, &[&old, &old, &old]).await?;

    let (sets, claims) = (
        Versions::of(&ns, "apps", "StatefulSet").await?,
        Versions::of(&ns, "", "PersistentVolumeClaim").await?,
    );
    ns.target(&retained(2, "2Gi")).await?;
    let before = ns.set().await?;
    let pods = ns.pods().await?;
    // Once it is replaced, nothing would grow the PVC of the third replica.
    let message = until_reported(&ns, "Refused", "ClaimOutdated").await?;
    ensure!(message.contains("data-web-2"), "{message}");
    let larger = r#"{"spec":{"resources":{"requests":{"storage":"2Gi"}}}}"#;
    ns.done(&["patch", "pvc", "data-web-2", "-p", larger], "").await?;
    let set = until_replaced(&ns, &before, "2Gi").await?;
    let new = uid(&set);
    ensure!(ns.pods().await? == pods, "Pods restarted");
    let policy = "/spec/persistentVolumeClaimRetentionPolicy";
    ensure!(set.pointer(policy) == before.pointer(policy), "{set:#}");
    until_owned_by(&ns, &[&new, &new, "-"]).await?;

    // While the old one was deleted, nothing depended on it.
    let sets = sets.so_far();
    let deleted: Vec<&Value> = sets
        .iter()
        .filter(|set| uid(set) == old && set["metadata"]["deletionTimestamp"].is_string())
        .collect();
    ensure!(!deleted.is_empty(), "{sets:#?}");
    for set in deleted {
        let policy = &set["spec"]["persistentVolumeClaimRetentionPolicy"]["whenDeleted"];
        ensure!(policy == "Retain", "{set:#}");
    }
    // The old one lost each PVC once, and never got one back. The watch may show that later than a read.
    for name in ["data-web-0", "data-web-1", "data-web-2"] {
        let expected: &[&str] = match name {
            "data-web-2" => &[&old, ""],
            _ => &[&old, "", &new],
        };
        let mut owners = Vec::new();
        let shown = eventually("the last owner in the watch", PATIENCE, async || {
            let all = claims.so_far();
            let of_the_claim = all.iter().filter(|claim| claim["metadata"]["name"] == name);
            owners = of_the_claim.map(owner).collect();
            owners.dedup();
            Ok((owners.len() >= expected.len()).then_some(()))
        });
        shown.await.with_context(|| name)?;
        ensure!(owners == expected, "{name}: {owners:?}");
    }

    // A replica that comes back finds its PVC, and the policy holds for all of them.
    let kept = Before::of(&ns).await?;
    ns.done(&["scale", "statefulset", "web", "--replicas=3"], "").await?;
    ns.settled().await?;
    until_owned_by(&ns, &[&new, &new, &new]).await?;
    kept.keeps_claims(&ns).await?;
    ns.done(&["delete", "statefulset", "web"], "").await?;
    until_owned_by(&ns, &[]).await
}

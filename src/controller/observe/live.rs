//! Reads the Pods and PVCs of a StatefulSet as they are now, before a step that cannot be undone. A watch on a connection
//! that is broken is late until its timeout.

use std::fmt::Debug;

use k8s_openapi::NamespaceResourceScope;
use kube::api::{Api, ListParams};
use kube::{Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;

use super::observer::view_of;
use crate::api::ApiOutcome;
use crate::controller::calls::api_calls;
use crate::controller::objects::claim::SlimClaim;
use crate::controller::objects::pod::SlimPod;
use crate::controller::objects::set::SlimSet;
use crate::controller::objects::views;
use crate::controller::objects::views::ViewError;
use crate::controller::read::lists;
use crate::controller::read::lists::FoldedList;
use crate::gate::SetView;
use crate::rollout::{PodView, Snapshot};
use crate::templates::MaxInMotion;

/// What was read, or why it cannot be read.
fn existing<T>(outcome: ApiOutcome<T>) -> Result<T, String> {
    match outcome {
        ApiOutcome::Done(read) => Ok(read),
        ApiOutcome::Conflict(_) | ApiOutcome::NotFound(_) => Err("it does not exist any more".to_owned()),
        other => Err(other.why()),
    }
}

/// What was kept of a list in which each object of ours can be read.
fn complete<T>(kind: &str, listed: FoldedList<T>, is_ours: impl Fn(&str) -> bool) -> Result<Vec<T>, String> {
    let mut unread = listed.unread.iter().map(|object| (object.key().1, &object.why));
    match unread.find(|(name, _)| is_ours(name)) {
        Some((name, why)) => Err(format!("{kind} {name} cannot be read: {why}")),
        None => Ok(listed.kept),
    }
}

/// Replaces the PVCs of the snapshot, and the Pods of its StatefulSet. Pods of others that use these PVCs are those of
/// the watch.
///
/// # Errors
/// Why they cannot be read. The snapshot is unchanged.
pub(super) async fn read_live(
    client: &Client,
    max_in_motion: MaxInMotion,
    snapshot: &mut Snapshot,
) -> Result<(), String> {
    is_unchanged(client, max_in_motion, &snapshot.set).await?;
    let set = &snapshot.set;
    let selector: Vec<String> = set
        .selector()
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect();
    let is_ours = |pod: &PodView| set.controls(pod.controller.as_ref());
    let pod = |pod: SlimPod| views::pod(&pod).filter(is_ours);
    let stem = format!("{}-", set.name);
    let pods = list(client, &set.namespace, &selector.join(","), pod).await?;
    let pods = complete("Pod", pods, |name| name.starts_with(&stem))?;
    let claim = |claim: SlimClaim| set.place_of(&claim.name_any()).map(|_| views::claim(&claim));
    let claims = list(client, &set.namespace, "", claim).await?;
    let claims = complete("PersistentVolumeClaim", claims, |name| set.place_of(name).is_some())?;
    let named = claims
        .into_iter()
        .map(|claim| claim.map(|claim| (claim.name.clone(), claim)));
    let claims: Result<_, ViewError> = named.collect();
    let claims = claims.map_err(|error| error.to_string())?;

    let uid = set.uid.clone();
    snapshot
        .pods
        .retain(|_, pod| pod.controller.as_ref().is_none_or(|owner| owner.uid != uid));
    snapshot
        .pods
        .extend(pods.into_iter().map(|pod| (pod.name.clone(), pod)));
    snapshot.claims = claims;
    Ok(())
}

/// Whether the StatefulSet is still as the decision has seen it: it may be paused or withdrawn by now. Its status may
/// have changed.
async fn is_unchanged(client: &Client, max_in_motion: MaxInMotion, seen: &SetView) -> Result<(), String> {
    let sets: Api<SlimSet> = Api::namespaced(client.clone(), &seen.namespace);
    // The controller may list StatefulSets, and needs no right to get one.
    let named = ListParams::default().fields(&format!("metadata.name={}", seen.name));
    let found = existing(api_calls::call(sets.list(&named)).await)?
        .items
        .into_iter()
        .next();
    let now = found.ok_or_else(|| "the StatefulSet does not exist any more".to_owned())?;
    let now = SetView {
        resource_version: seen.resource_version.clone(),
        status_is_current: seen.status_is_current,
        update_revision: seen.update_revision.clone(),
        ..view_of(&now, max_in_motion).map_err(|error| error.to_string())?
    };
    if now == *seen {
        Ok(())
    } else {
        Err("the StatefulSet has changed".to_owned())
    }
}

/// All objects of a namespace with these labels, page by page. Without a resourceVersion, the API server reads them
/// from etcd.
async fn list<K, T>(
    client: &Client,
    namespace: &str,
    labels: &str,
    keep: impl FnMut(K) -> Option<T>,
) -> Result<FoldedList<T>, String>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + Debug + DeserializeOwned,
{
    let objects: Api<K> = Api::namespaced(client.clone(), namespace);
    let params = ListParams::default().labels(labels);
    let pages = lists::objects(client, objects.resource_url(), params);
    existing(api_calls::outcome(pages.fold(keep).await))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{MaxInMotion, read_live, view_of};
    use crate::controller::fixtures::{changed, serving};
    use crate::rollout::fixtures::{rows, web};

    /// The set `web`, as it was seen.
    fn set() -> Value {
        json!({
            "metadata": {"name": "web", "namespace": "default", "uid": "u", "resourceVersion": "7", "generation": 1},
            "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}},
            "status": {"observedGeneration": 1, "updateRevision": "web-1"},
        })
    }

    /// A change of what is listed, and why nothing is deleted then.
    const ROWS: &str = r#"
        as it was seen                 | /pods                                | [] |
        only written again             | /statefulsets/0/metadata/resourceVersion | "8" |
        scaled                         | /statefulsets/0/spec/replicas        | 2  | the StatefulSet has changed
        paused                         | /statefulsets/0/metadata/annotations | {"claim-rollout.io/paused": "true"} | the StatefulSet has changed
        deleted                        | /statefulsets                        | [] | the StatefulSet does not exist any more
        a Pod of it that is unreadable | /pods | [{"metadata": {"name": "web-0", "namespace": "default"}, "spec": 5}] | Pod web-0 cannot be read: Data error at line 1, column 59
        such a Pod of another          | /pods | [{"metadata": {"name": "db-0", "namespace": "default"}, "spec": 5}] |
    "#;

    /// What is deleted is judged by the API server, not by what a watch has shown.
    #[tokio::test]
    async fn changed_set_or_unreadable_pod_stops_a_deletion() {
        for [what, place, json, expected] in rows(ROWS) {
            let lists = json!({"statefulsets": [set()], "pods": [], "persistentvolumeclaims": []});
            let lists = changed(lists, place, json);
            let client = serving(move |request| {
                let items = &lists[request.path.rsplit('/').next().unwrap_or_default()];
                Some((200, json!({"metadata": {"resourceVersion": "9"}, "items": items})))
            });
            let (mut snapshot, max_in_motion) = (web(), MaxInMotion::default());
            snapshot.set = view_of(&serde_json::from_value(set()).unwrap(), max_in_motion).unwrap();
            let why = read_live(&client, max_in_motion, &mut snapshot).await.err();
            assert_eq!(why.unwrap_or_default(), expected, "{what}");
        }
    }
}

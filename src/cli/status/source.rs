//! Reads StatefulSets, ClaimRollouts, PVCs and Pods from the cluster.

use std::fmt::Debug;

use futures::stream::{BoxStream, SelectAll, StreamExt as _};
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use kube::core::PartialObjectMeta;
use kube::runtime::{WatchStreamExt as _, watcher};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::rollout::Rollout;
use super::set::SeenSet;
use super::view::{StatusView, view};
use crate::cli::cluster::{CLAIM, SET, claims, kind, rollouts, sets};
use crate::cli::lists::{ClusterList, SkippedObject, all_shown, list};
use crate::controller::objects::conversion;
use crate::controller::read::item::ListItem;
use crate::rollout::PodView;

/// The StatefulSets to read.
pub(crate) struct StatusSource {
    pub(super) client: Client,
    /// All namespaces if none.
    pub(super) namespace: Option<String>,
    /// The names of the sets; all with a rollout if empty.
    pub(super) names: Vec<String>,
    /// Labels of the sets.
    pub(super) selector: Option<String>,
}

/// What was read.
#[derive(Debug)]
pub(crate) struct LoadedStatus {
    /// Sorted by namespace and name.
    pub(crate) views: Vec<StatusView>,
    /// What is not shown.
    pub(crate) unread: Vec<SkippedObject>,
    /// False if the cluster does not know the kind ClaimRollout.
    pub(crate) is_served: bool,
}

/// Namespace and name, and the set and the rollout if they exist.
type ShownSet<'a> = (&'a str, &'a str, Option<&'a SeenSet>, Option<&'a Rollout>);

/// A stream of changes.
pub(crate) type Changes = SelectAll<BoxStream<'static, ()>>;

impl StatusSource {
    /// Reads the views. An object that cannot be read hides no other.
    ///
    /// # Errors
    /// If a named set is not found or cannot be read, or a list cannot be read.
    pub(crate) async fn load(&self) -> anyhow::Result<LoadedStatus> {
        let listed = self.rollouts().await?;
        let is_served = listed.is_some();
        let mut rollouts = listed.unwrap_or_default();
        let sets = self.list(&sets(), &self.only()).await?.converted(SET, SeenSet::read);
        let ClusterList {
            items: sets,
            mut unread,
        } = sets;
        let is_unread = |rollout: &Rollout| {
            let (namespace, name) = (rollout.namespace(), &rollout.spec.set_ref.name);
            unread.iter().any(|unread| unread.is(SET, namespace, name))
        };
        // Without its set, it would be shown as that of a deleted one.
        rollouts.items.retain(|rollout| !is_unread(rollout));
        unread.append(&mut rollouts.unread);
        let mut rollouts = rollouts.items;
        if self.selector.is_some() {
            rollouts.retain(|rollout| sets.iter().any(|set| rollout.shows(set)));
        }
        let known = |set: &SeenSet| rollouts.iter().any(|rollout| rollout.shows(set));
        let mut shown: Vec<ShownSet<'_>> = Vec::new();
        for rollout in &rollouts {
            let set = sets.iter().find(|set| rollout.shows(set));
            shown.push((rollout.namespace(), &rollout.spec.set_ref.name, set, Some(rollout)));
        }
        for set in sets
            .iter()
            .filter(|set| self.names.contains(&set.view.name) && !known(set))
        {
            shown.push((&set.view.namespace, &set.view.name, Some(set), None));
        }
        shown.sort_by_key(|(namespace, name, ..)| (*namespace, *name));
        let mut views: Vec<StatusView> = Vec::new();
        for of_namespace in shown.chunk_by(|one, other| one.0 == other.0) {
            let namespace = of_namespace[0].0;
            let claims = self.within(namespace, &claims()).await?;
            let claims = claims.converted(CLAIM, conversion::claim);
            let pods = self.pods(namespace).await?;
            unread.extend(claims.unread.into_iter().chain(pods.unread));
            let (claims, pods) = (claims.items, pods.items);
            let view =
                |(namespace, name, set, rollout): &ShownSet<'_>| view(namespace, name, *set, *rollout, &claims, &pods);
            views.extend(of_namespace.iter().map(view));
        }
        let is_shown = |name: &str| views.iter().any(|view| view.name == name);
        all_shown(SET, &self.names, is_shown, &unread)?;
        Ok(LoadedStatus {
            views,
            unread,
            is_served,
        })
    }

    /// A stream with an item for every change of what [`load`](Self::load) reads. It never ends;
    /// failed watches are retried.
    pub(crate) fn changes(&self) -> Changes {
        let mut all = SelectAll::new();
        for kind in [rollouts(), sets(), claims(), pods()] {
            let objects: Api<ListItem<PartialObjectMeta<DynamicObject>>> = match &self.namespace {
                Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, &kind),
                None => Api::all_with(self.client.clone(), &kind),
            };
            let changes = watcher(objects, watcher::Config::default()).default_backoff();
            all.push(changes.map(|_| ()).boxed());
        }
        all
    }

    /// None if the kind is not served: then nothing has been reported.
    async fn rollouts(&self) -> anyhow::Result<Option<ClusterList<Rollout>>> {
        let mut listed = match self.list::<Rollout>(&rollouts(), &ListParams::default()).await {
            Ok(listed) => listed,
            Err(kube::Error::Api(status)) if status.code == 404 => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let is_asked = |name: &String| self.names.is_empty() || self.names.contains(name);
        listed.items.retain(|rollout| is_asked(&rollout.spec.set_ref.name));
        listed.unread.retain(|unread| is_asked(&unread.name));
        Ok(Some(listed))
    }

    /// The Pods; none if the user may not read them.
    async fn pods(&self, namespace: &str) -> kube::Result<ClusterList<PodView>> {
        let listed = match self.within(namespace, &pods()).await {
            Err(kube::Error::Api(status)) if status.code == 403 => ClusterList::default(),
            listed => listed?,
        };
        let ClusterList { items, unread } = listed.converted("Pod", conversion::pod);
        let items = items.into_iter().flatten().collect();
        Ok(ClusterList { items, unread })
    }

    /// Selects by label, and a single named set, to read less.
    fn only(&self) -> ListParams {
        let mut parameters = ListParams::default();
        parameters.label_selector.clone_from(&self.selector);
        match &self.names[..] {
            [name] => parameters.fields(&format!("metadata.name={name}")),
            _ => parameters,
        }
    }

    async fn list<K>(&self, kind: &ApiResource, parameters: &ListParams) -> kube::Result<ClusterList<K>>
    where
        K: DeserializeOwned + Clone + Debug,
    {
        list(&self.client, self.namespace.as_deref(), kind, parameters).await
    }

    /// All objects of a kind in a namespace.
    async fn within(&self, namespace: &str, kind: &ApiResource) -> kube::Result<ClusterList<Value>> {
        list(&self.client, Some(namespace), kind, &ListParams::default()).await
    }
}

fn pods() -> ApiResource {
    kind("", "v1", "Pod")
}

#[cfg(test)]
mod tests {
    use kube::Client;
    use kube::client::Body;
    use serde_json::{Value, json};

    use super::StatusSource;

    /// An object in whose managed fields somebody wrote a time of the year 10000.
    fn object(name: &str, spec: &Value) -> Value {
        let late = json!([{"manager": "m", "time": "10000-01-01T11:59:59Z", "fieldsV1": {}}]);
        let metadata =
            json!({"namespace": "shop", "name": name, "uid": name, "resourceVersion": "1", "managedFields": late});
        json!({"metadata": metadata, "spec": spec})
    }

    fn set(name: &str, replicas: &Value) -> Value {
        let template = json!({"metadata": {"name": "data"}, "spec": {}});
        object(name, &json!({"replicas": replicas, "volumeClaimTemplates": [template]}))
    }

    fn rollout(name: &str) -> Value {
        let set = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": name, "uid": name});
        let policy = json!({"setRef": set, "revision": "r", "templates": [], "updatePolicy": "InPlace", "sync": "Async", "replaceSet": "Never"});
        object(name, &policy)
    }

    /// An API server with objects that cannot be read among others, and without ClaimRollouts if they are not served.
    fn poisoned(serves: bool, names: &[&str]) -> StatusSource {
        let server = move |request: axum::http::Request<Body>| {
            if !serves && request.uri().path().ends_with("claimrollouts") {
                let status = json!({"kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound"});
                let mut response = axum::http::Response::new(Body::from(status.to_string().into_bytes()));
                *response.status_mut() = axum::http::StatusCode::NOT_FOUND;
                return std::future::ready(Ok::<_, kube::Error>(response));
            }
            let items = match request.uri().path().rsplit('/').next() {
                Some("claimrollouts") => json!([rollout("web"), rollout("bad"), {"metadata": 5}]),
                Some("statefulsets") => json!([set("web", &json!(1)), set("bad", &json!("many"))]),
                Some("persistentvolumeclaims") => {
                    let much = json!({"resources": {"requests": {"storage": "much"}}});
                    json!([object("data-web-0", &json!({})), object("data-bad-0", &much)])
                }
                Some("pods") => json!([object("web-0", &json!(5))]),
                other => panic!("{other:?}"),
            };
            let list = json!({"metadata": {}, "items": items}).to_string();
            let response = axum::http::Response::new(Body::from(list.into_bytes()));
            std::future::ready(Ok(response))
        };
        StatusSource {
            client: Client::new(tower::service_fn(server), "default"),
            namespace: None,
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            selector: None,
        }
    }

    #[tokio::test]
    async fn rollouts_that_are_not_served_are_noted() {
        for serves in [true, false] {
            let loaded = poisoned(serves, &["web"]).load().await.expect("a status");
            assert_eq!((loaded.is_served, loaded.views.len()), (serves, 1));
        }
    }

    #[tokio::test]
    async fn unread_object_hides_no_other_and_is_named() {
        let load = async |names: &[&str]| {
            let loaded = poisoned(true, names).load().await.map_err(|error| error.to_string())?;
            let shown = loaded.views.iter().map(|view| {
                let claims: Vec<&str> = view.claims.iter().map(|claim| &*claim.row.name).collect();
                format!("{}: {}", view.name, claims.join(" "))
            });
            let unread = loaded.unread.iter();
            let unread = unread.map(|unread| format!("{} {}", unread.kind, unread.name));
            Ok::<_, String>((shown.collect::<Vec<_>>(), unread.collect::<Vec<_>>()))
        };
        let unread = |first: &[&str]| {
            let rest = ["PersistentVolumeClaim data-bad-0", "Pod web-0"];
            let all = first.iter().chain(&rest).map(|text| (*text).to_owned());
            all.collect::<Vec<_>>()
        };
        let shown = vec!["web: data-web-0".to_owned()];
        let all = unread(&["StatefulSet bad", "ClaimRollout "]);
        assert_eq!(load(&[]).await, Ok((shown.clone(), all)));
        assert_eq!(load(&["web"]).await, Ok((shown, unread(&["StatefulSet bad"]))));
        let error = load(&["bad"]).await.expect_err("it was asked for");
        assert!(error.starts_with("StatefulSet shop/bad cannot be read: "), "{error}");
        let error = load(&["none"]).await.expect_err("no such StatefulSet");
        assert_eq!(error, "StatefulSet \"none\" not found");
    }
}

//! Reads StatefulSets, ClaimRollouts, PVCs and Pods from the cluster.

use std::fmt::Debug;

use anyhow::bail;
use futures::stream::{BoxStream, SelectAll, StreamExt as _};
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use kube::core::PartialObjectMeta;
use kube::runtime::{WatchStreamExt as _, watcher};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::rollout::Rollout;
use super::view::{StatusView, view};
use crate::claims::Claim;
use crate::cli::cluster::kind;
use crate::cli::lists::{ClusterList, SkippedObject, list};
use crate::controller::objects::conversion;
use crate::controller::read::item::ListItem;

/// The StatefulSets to read.
pub(crate) struct StatusSource {
    client: Client,
    namespace: Option<String>,
    names: Vec<String>,
    /// Labels of the sets.
    selector: Option<String>,
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
type ShownSet<'a> = (&'a str, &'a str, Option<&'a StatefulSet>, Option<&'a Rollout>);

/// A stream of changes.
pub(crate) type Changes = SelectAll<BoxStream<'static, ()>>;

impl StatusSource {
    /// The sets of these names, or all with a rollout; in `namespace`, or in all.
    pub(crate) fn new(client: Client, namespace: Option<String>, names: Vec<String>, selector: Option<String>) -> Self {
        Self {
            client,
            namespace,
            names,
            selector,
        }
    }

    /// Reads the views. An object that cannot be read hides no other.
    ///
    /// # Errors
    /// If a named set is not found or cannot be read, or a list cannot be read.
    pub(crate) async fn load(&self) -> anyhow::Result<LoadedStatus> {
        let listed = self.rollouts().await?;
        let is_served = listed.is_some();
        let mut rollouts = listed.unwrap_or_default();
        let ClusterList {
            items: sets,
            mut unread,
        } = self.list::<StatefulSet>(&sets(), &self.only()).await?;
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
        let known = |set: &StatefulSet| rollouts.iter().any(|rollout| rollout.shows(set));
        let named = |set: &StatefulSet| self.names.iter().any(|name| Some(name) == set.metadata.name.as_ref());
        let mut shown: Vec<ShownSet<'_>> = Vec::new();
        for rollout in &rollouts {
            let set = sets.iter().find(|set| rollout.shows(set));
            shown.push((rollout.namespace(), &rollout.spec.set_ref.name, set, Some(rollout)));
        }
        for set in sets.iter().filter(|set| named(set) && !known(set)) {
            let (namespace, name) = (text(set.metadata.namespace.as_ref()), text(set.metadata.name.as_ref()));
            shown.push((namespace, name, Some(set), None));
        }
        shown.sort_by_key(|(namespace, name, ..)| (*namespace, *name));
        let mut views: Vec<StatusView> = Vec::new();
        for of_namespace in shown.chunk_by(|one, other| one.0 == other.0) {
            let claims = self.claims(of_namespace[0].0).await?;
            let pods = self.pods(of_namespace[0].0).await?;
            unread.extend(claims.unread.into_iter().chain(pods.unread));
            let (claims, pods) = (claims.items, pods.items);
            let view =
                |(namespace, name, set, rollout): &ShownSet<'_>| view(namespace, name, *set, *rollout, &claims, &pods);
            views.extend(of_namespace.iter().map(view));
        }
        if let Some(missing) = self
            .names
            .iter()
            .find(|name| views.iter().all(|view| view.name != **name))
        {
            match unread
                .iter()
                .find(|unread| unread.kind == SET && unread.name == *missing)
            {
                Some(unread) => bail!("{unread}"),
                None => bail!("StatefulSet {missing:?} not found"),
            }
        }
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

    /// The claims as the decisions read them.
    async fn claims(&self, namespace: &str) -> kube::Result<ClusterList<Claim>> {
        let listed = self.within::<Value>(namespace, &claims()).await?;
        let (mut items, mut unread) = (Vec::new(), listed.unread);
        for object in &listed.items {
            match conversion::claim(object) {
                Ok(claim) => items.push(claim),
                Err(error) => unread.push(SkippedObject {
                    kind: claims().kind,
                    namespace: namespace.to_owned(),
                    name: object["metadata"]["name"].as_str().unwrap_or_default().to_owned(),
                    why: error.to_string(),
                }),
            }
        }
        Ok(ClusterList { items, unread })
    }

    /// The Pods; none if the user may not read them.
    async fn pods(&self, namespace: &str) -> kube::Result<ClusterList<Pod>> {
        match self.within(namespace, &pods()).await {
            Err(kube::Error::Api(status)) if status.code == 403 => Ok(ClusterList::default()),
            listed => listed,
        }
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
    async fn within<K>(&self, namespace: &str, kind: &ApiResource) -> kube::Result<ClusterList<K>>
    where
        K: DeserializeOwned + Clone + Debug,
    {
        list(&self.client, Some(namespace), kind, &ListParams::default()).await
    }
}

/// The kind of StatefulSets.
const SET: &str = "StatefulSet";

fn rollouts() -> ApiResource {
    kind("claim-rollout.io", "v1alpha1", "ClaimRollout")
}

fn sets() -> ApiResource {
    kind("apps", "v1", SET)
}

fn claims() -> ApiResource {
    kind("", "v1", "PersistentVolumeClaim")
}

fn pods() -> ApiResource {
    kind("", "v1", "Pod")
}

fn text(value: Option<&String>) -> &str {
    value.map_or("", String::as_str)
}

#[cfg(test)]
mod tests {
    use kube::Client;
    use kube::client::Body;
    use serde_json::{Value, json};

    use super::StatusSource;

    const LATE: &str = "10000-01-01T11:59:59Z";

    fn object(name: &str, spec: &Value) -> Value {
        let late = json!([{"manager": "m", "time": LATE, "fieldsV1": {}}]);
        let metadata =
            json!({"namespace": "shop", "name": name, "uid": name, "resourceVersion": "1", "managedFields": late});
        json!({"metadata": metadata, "spec": spec})
    }

    /// The same as objects that can be read.
    fn plain(mut object: Value) -> Value {
        object["metadata"]["managedFields"] = Value::Null;
        object
    }

    fn set(name: &str) -> Value {
        let template = json!({"metadata": {"name": "data"}});
        let pod = json!({"metadata": {}, "spec": {"containers": []}});
        let selector = json!({"matchLabels": {"app": name}});
        object(
            name,
            &json!({"replicas": 1, "selector": selector, "serviceName": name, "template": pod, "volumeClaimTemplates": [template]}),
        )
    }

    fn rollout(name: &str) -> Value {
        let set = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": name, "uid": name});
        let policy = json!({"setRef": set, "revision": "r", "templates": [], "updatePolicy": "InPlace", "sync": "Async", "replaceSet": "Never"});
        object(name, &policy)
    }

    /// An API server with objects of the year 10000 among others, and without ClaimRollouts if they are not served.
    fn poisoned(serves: bool) -> Client {
        let server = move |request: axum::http::Request<Body>| {
            if !serves && request.uri().path().ends_with("claimrollouts") {
                let status = json!({"kind": "Status", "status": "Failure", "code": 404, "reason": "NotFound"});
                let mut response = axum::http::Response::new(Body::from(status.to_string().into_bytes()));
                *response.status_mut() = axum::http::StatusCode::NOT_FOUND;
                return std::future::ready(Ok::<_, kube::Error>(response));
            }
            let items = match request.uri().path().rsplit('/').next() {
                Some("claimrollouts") => json!([rollout("web"), rollout("bad"), {"metadata": 5}]),
                Some("statefulsets") => json!([plain(set("web")), set("bad")]),
                Some("persistentvolumeclaims") => {
                    json!([
                        plain(object("data-web-0", &json!({}))),
                        plain(object(
                            "data-bad-0",
                            &json!({"resources": {"requests": {"storage": "much"}}})
                        ))
                    ])
                }
                Some("pods") => json!([object("web-0", &json!({"containers": []}))]),
                other => panic!("{other:?}"),
            };
            let list = json!({"metadata": {}, "items": items}).to_string();
            let response = axum::http::Response::new(Body::from(list.into_bytes()));
            std::future::ready(Ok(response))
        };
        Client::new(tower::service_fn(server), "default")
    }

    #[tokio::test]
    async fn rollouts_that_are_not_served_are_noted() {
        for serves in [true, false] {
            let source = StatusSource::new(poisoned(serves), None, vec!["web".to_owned()], None);
            let loaded = source.load().await.expect("a status");
            assert_eq!((loaded.is_served, loaded.views.len()), (serves, 1));
        }
    }

    #[tokio::test]
    async fn unread_object_hides_no_other_and_is_named() {
        let load = async |names: &[&str]| {
            let names = names.iter().map(|name| (*name).to_owned()).collect();
            let source = StatusSource::new(poisoned(true), None, names, None);
            let loaded = source.load().await.map_err(|error| error.to_string())?;
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

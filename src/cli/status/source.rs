//! Reads StatefulSets, ClaimRollouts, PVCs and Pods from the cluster.

use anyhow::bail;
use futures::stream::{BoxStream, SelectAll, StreamExt as _};
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use kube::core::{GroupVersionKind, PartialObjectMeta};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Client, Resource};
use serde::de::DeserializeOwned;

use super::rollout::Rollout;
use super::view::{StatusView, view};

/// The StatefulSets to read.
pub(crate) struct StatusSource {
    client: Client,
    namespace: Option<String>,
    names: Vec<String>,
    /// Labels of the sets.
    selector: Option<String>,
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

    /// Reads the views, sorted by namespace and name.
    ///
    /// # Errors
    /// If a named set is not found, or something cannot be read.
    pub(crate) async fn load(&self) -> anyhow::Result<Vec<StatusView>> {
        let mut rollouts = self.rollouts().await?;
        let sets = self.list::<StatefulSet>(&self.only()).await?;
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
            let (claims, pods) = (
                self.claims(of_namespace[0].0).await?,
                self.pods(of_namespace[0].0).await?,
            );
            let view =
                |(namespace, name, set, rollout): &ShownSet<'_>| view(namespace, name, *set, *rollout, &claims, &pods);
            views.extend(of_namespace.iter().map(view));
        }
        if let Some(missing) = self
            .names
            .iter()
            .find(|name| views.iter().all(|view| view.name != **name))
        {
            bail!("StatefulSet {missing:?} not found");
        }
        Ok(views)
    }

    /// A stream with an item for every change of what [`load`](Self::load) reads. It never ends;
    /// failed watches are retried.
    pub(crate) fn changes(&self) -> Changes {
        let mut all = SelectAll::new();
        let rollouts = watcher(self.dynamic(&rollout_kind()), watcher::Config::default());
        all.push(rollouts.default_backoff().map(|_| ()).boxed());
        let sets = watcher(self.api::<PartialObjectMeta<StatefulSet>>(), watcher::Config::default());
        all.push(sets.default_backoff().map(|_| ()).boxed());
        let claims = watcher(
            self.api::<PartialObjectMeta<PersistentVolumeClaim>>(),
            watcher::Config::default(),
        );
        all.push(claims.default_backoff().map(|_| ()).boxed());
        let pods = watcher(self.api::<PartialObjectMeta<Pod>>(), watcher::Config::default());
        all.push(pods.default_backoff().map(|_| ()).boxed());
        all
    }

    async fn rollouts(&self) -> anyhow::Result<Vec<Rollout>> {
        let objects = match self.dynamic(&rollout_kind()).list(&ListParams::default()).await {
            Ok(list) => list.items,
            // The kind is not installed: then nothing has been rolled out.
            Err(kube::Error::Api(status)) if status.code == 404 => Vec::new(),
            Err(error) => return Err(error.into()),
        };
        let rollouts = objects.into_iter().map(Rollout::read);
        let asked = |rollout: &Rollout| self.names.is_empty() || self.names.contains(&rollout.spec.set_ref.name);
        Ok(rollouts.filter(asked).collect())
    }

    async fn claims(&self, namespace: &str) -> anyhow::Result<Vec<PersistentVolumeClaim>> {
        let claims: Api<PersistentVolumeClaim> = Api::namespaced(self.client.clone(), namespace);
        Ok(claims.list(&ListParams::default()).await?.items)
    }

    /// The Pods; none if the user may not read them.
    async fn pods(&self, namespace: &str) -> anyhow::Result<Vec<Pod>> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        match pods.list(&ListParams::default()).await {
            Ok(list) => Ok(list.items),
            Err(kube::Error::Api(status)) if status.code == 403 => Ok(Vec::new()),
            Err(error) => Err(error.into()),
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

    async fn list<K>(&self, parameters: &ListParams) -> anyhow::Result<Vec<K>>
    where
        K: Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>
            + DeserializeOwned
            + Clone
            + std::fmt::Debug,
    {
        Ok(self.api::<K>().list(parameters).await?.items)
    }

    fn api<K: Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>>(&self) -> Api<K> {
        match &self.namespace {
            Some(namespace) => Api::namespaced(self.client.clone(), namespace),
            None => Api::all(self.client.clone()),
        }
    }

    fn dynamic(&self, kind: &ApiResource) -> Api<DynamicObject> {
        match &self.namespace {
            Some(namespace) => Api::namespaced_with(self.client.clone(), namespace, kind),
            None => Api::all_with(self.client.clone(), kind),
        }
    }
}

fn rollout_kind() -> ApiResource {
    let kind = GroupVersionKind::gvk("claim-rollout.io", "v1alpha1", "ClaimRollout");
    ApiResource::from_gvk_with_plural(&kind, "claimrollouts")
}

fn text(value: Option<&String>) -> &str {
    value.map_or("", String::as_str)
}

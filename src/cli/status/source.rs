//! Reads the cluster: sets, ClaimRollouts, claims.

use anyhow::bail;
use futures::stream::{BoxStream, SelectAll, StreamExt as _};
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use kube::core::{GroupVersionKind, PartialObjectMeta};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Client, Resource};
use serde::de::DeserializeOwned;

use super::view::{Rollout, SetView, view};

/// What is asked for, and where.
pub(crate) struct Source {
    client: Client,
    namespace: Option<String>,
    name: Option<String>,
}

/// Something changed.
pub(crate) type Changes = SelectAll<BoxStream<'static, ()>>;

impl Source {
    /// The set `name`, or all with a rollout; in `namespace`, or in all.
    pub(crate) fn new(client: Client, namespace: Option<String>, name: Option<String>) -> Self {
        Self {
            client,
            namespace,
            name,
        }
    }

    /// Everything there is to show now, in the order of namespaces and names.
    pub(crate) async fn load(&self) -> anyhow::Result<Vec<SetView>> {
        let rollouts = self.rollouts().await?;
        let sets = self.list::<StatefulSet>(&self.only()).await?;
        let mut views = Vec::new();
        for rollout in &rollouts {
            let namespace = rollout.namespace();
            let set = sets.iter().find(|set| rollout.is_of(set));
            views.push(view(
                namespace,
                &rollout.spec.set_ref.name,
                set,
                Some(rollout),
                &self.claims(namespace).await?,
            ));
        }
        for set in sets.iter().filter(|_| self.name.is_some()) {
            if !rollouts.iter().any(|rollout| rollout.is_of(set)) {
                let (namespace, name) = (text(set.metadata.namespace.as_ref()), text(set.metadata.name.as_ref()));
                views.push(view(namespace, name, Some(set), None, &self.claims(namespace).await?));
            }
        }
        match &self.name {
            Some(name) if views.is_empty() => bail!("expected a StatefulSet {name:?}, but found none"),
            _ => {}
        }
        views.sort_by(|a, b| (&a.namespace, &a.name).cmp(&(&b.namespace, &b.name)));
        Ok(views)
    }

    /// A stream with an item for every change of what [`load`](Self::load) reads. It never ends; what cannot be
    /// watched at the moment is tried again.
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
        let asked = |rollout: &Rollout| self.name.as_ref().is_none_or(|name| *name == rollout.spec.set_ref.name);
        Ok(rollouts.filter(asked).collect())
    }

    async fn claims(&self, namespace: &str) -> anyhow::Result<Vec<PersistentVolumeClaim>> {
        let claims: Api<PersistentVolumeClaim> = Api::namespaced(self.client.clone(), namespace);
        Ok(claims.list(&ListParams::default()).await?.items)
    }

    /// One set, where one is named: less to read.
    fn only(&self) -> ListParams {
        let all = ListParams::default();
        self.name
            .as_ref()
            .map_or(all.clone(), |name| all.fields(&format!("metadata.name={name}")))
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

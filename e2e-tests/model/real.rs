//! A namespace of a real API server, as one that answers requests.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use axum::http;
use claim_rollout::controller::FIELD_MANAGER;
use claim_rollout::sim::dialogue::{Door, Request, Wish, revision};
use kube::core::Status;
use serde_json::{Value, json};

use super::{admission, causes};
use crate::cluster::{Cluster, DRIVER};
use crate::installation::USER;

/// Who asks.
pub(super) struct Clients {
    pub(super) admin: kube::Client,
    pub(super) ours: kube::Client,
    pub(super) sets: kube::Client,
}

impl Clients {
    /// The administrator, our controller and the StatefulSet controller, with the rights that each has.
    pub(super) async fn new(cluster: &Cluster) -> anyhow::Result<Self> {
        let accounts = ["system:serviceaccounts", "system:authenticated"];
        let controller = "system:serviceaccount:kube-system:statefulset-controller";
        Ok(Self {
            admin: cluster.client().await?,
            ours: cluster.client_for(USER, &accounts).await?,
            sets: cluster.client_for(controller, &accounts).await?,
        })
    }
}

/// The namespace.
pub(super) struct Real<'a> {
    pub(super) clients: &'a Clients,
    pub(super) namespace: String,
    /// The names of slots of claims that are in use.
    pub(super) mounted: BTreeSet<u8>,
    /// Wishes by their revisions.
    pub(super) revisions: BTreeMap<String, String>,
    pub(super) quota: Option<u8>,
    pub(super) expandable: bool,
}

/// What a request may look like.
pub(super) enum Body {
    Nothing,
    Json(Value),
    Merge(Value),
    Apply(Value),
}

/// What is answered.
pub(super) type Reply = Result<Value, Box<Status>>;

/// Asks an API server.
pub(super) async fn call(client: &kube::Client, method: &str, path: &str, body: Body) -> anyhow::Result<Reply> {
    let (content, bytes) = match body {
        Body::Nothing => (None, Vec::new()),
        Body::Json(value) => (Some("application/json"), serde_json::to_vec(&value)?),
        Body::Merge(value) => (Some("application/merge-patch+json"), serde_json::to_vec(&value)?),
        Body::Apply(value) => (Some("application/apply-patch+yaml"), serde_json::to_vec(&value)?),
    };
    let mut request = http::Request::builder().method(method).uri(path);
    if let Some(content) = content {
        request = request.header(http::header::CONTENT_TYPE, content);
    }
    match client.request::<Value>(request.body(bytes)?).await {
        Ok(value) => Ok(Ok(value)),
        Err(kube::Error::Api(status)) => Ok(Err(status)),
        Err(error) => Err(error).context(format!("{method} {path}")),
    }
}

impl<'a> Real<'a> {
    /// A fresh namespace with a StorageClass of its own.
    pub(super) async fn new(clients: &'a Clients, namespace: &str, door: Door) -> anyhow::Result<Self> {
        let real = Self {
            clients,
            namespace: namespace.to_owned(),
            mounted: BTreeSet::new(),
            revisions: BTreeMap::new(),
            quota: None,
            expandable: true,
        };
        let labels = json!({admission::LABEL: admission::label(door)});
        let space = json!({"metadata": {"name": namespace, "labels": labels}});
        real.must("POST", "/api/v1/namespaces".to_owned(), Body::Json(space))
            .await?;
        let class = json!({
            "metadata": {"name": namespace}, "provisioner": DRIVER, "allowVolumeExpansion": true,
        });
        real.must(
            "POST",
            "/apis/storage.k8s.io/v1/storageclasses".to_owned(),
            Body::Json(class),
        )
        .await?;
        real.settle().await?;
        Ok(real)
    }

    /// Leaves nothing behind that later sequences would have to carry.
    pub(super) async fn leave(&self) -> anyhow::Result<()> {
        let class = format!("/apis/storage.k8s.io/v1/storageclasses/{}", self.namespace);
        self.must("DELETE", class, Body::Nothing).await.map(drop)
    }

    /// Remembers what nobody is asked about.
    pub(super) fn note(&mut self, request: &Request) {
        if let Request::Mount(slot, mounted) = request {
            if *mounted {
                self.mounted.insert(*slot);
            } else {
                self.mounted.remove(slot);
            }
        }
    }

    /// The path of objects of a kind.
    pub(super) fn path(&self, kind: &str) -> String {
        let group = match kind {
            "statefulsets" => "/apis/apps/v1",
            "claimrollouts" => "/apis/claim-rollout.io/v1alpha1",
            _ => "/api/v1",
        };
        format!("{group}/namespaces/{}/{kind}", self.namespace)
    }

    /// The administrator asks for something that is not refused.
    pub(super) async fn must(&self, method: &str, path: String, body: Body) -> anyhow::Result<Value> {
        let reply = call(&self.clients.admin, method, &path, body).await?;
        reply.map_err(|status| anyhow::anyhow!("{method} {path}: {} {}", status.code, status.message))
    }

    /// An object, if it is there.
    pub(super) async fn get(&self, kind: &str, name: &str) -> anyhow::Result<Option<Value>> {
        let path = format!("{}/{name}", self.path(kind));
        match call(&self.clients.admin, "GET", &path, Body::Nothing).await? {
            Ok(object) => Ok(Some(object)),
            Err(status) if status.code == 404 => Ok(None),
            Err(status) => anyhow::bail!("GET {path}: {}", status.message),
        }
    }

    /// The claims of the set.
    pub(super) async fn claims(&self) -> anyhow::Result<Vec<Value>> {
        let mut list = self
            .must("GET", self.path("persistentvolumeclaims"), Body::Nothing)
            .await?;
        let items = list["items"].take();
        let Value::Array(items) = items else {
            anyhow::bail!("expected a list of claims");
        };
        Ok(items)
    }

    /// The revision of a wish: the one that the policy has written, if it did.
    pub(super) fn revision(&mut self, wish: &Wish) -> String {
        let words = wish.to_string();
        if let Some((revision, _)) = self.revisions.iter().find(|(_, known)| **known == words) {
            return revision.clone();
        }
        let revision = revision(wish);
        self.revisions.insert(revision.clone(), words);
        revision
    }

    /// A user changes an object.
    pub(super) async fn merge(&self, path: &str, body: Value) -> anyhow::Result<String> {
        let path = format!("{path}?fieldManager=kubectl");
        self.said(&self.clients.admin, "PATCH", &path, Body::Merge(body)).await
    }

    /// Our controller changes an object.
    pub(super) async fn merge_as_ours(&self, path: &str, body: Value) -> anyhow::Result<String> {
        let path = format!("{path}?fieldManager={FIELD_MANAGER}");
        self.said(&self.clients.ours, "PATCH", &path, Body::Merge(body)).await
    }

    /// Our controller applies an object.
    pub(super) async fn apply_as_ours(&self, path: &str, body: Value) -> anyhow::Result<String> {
        let path = format!("{path}?fieldManager={FIELD_MANAGER}&force=true");
        self.said(&self.clients.ours, "PATCH", &path, Body::Apply(body)).await
    }

    /// What is answered, in words.
    pub(super) async fn said(
        &self,
        client: &kube::Client,
        method: &str,
        path: &str,
        body: Body,
    ) -> anyhow::Result<String> {
        Ok(match call(client, method, path, body).await? {
            Ok(_) => "Done".to_owned(),
            Err(status) => causes::answer(&status),
        })
    }
}

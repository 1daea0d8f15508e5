//! A namespace of a real API server, which executes requests.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context as _;
use axum::http;
use claim_rollout::controller::FIELD_MANAGER;
use claim_rollout::sim::dialogue::{ModelTarget, PolicyMode, Revisions};
use claim_rollout::templates::{ClaimTemplate, Revision};
use kube::core::Status;
use serde_json::{Value, json};

use super::{admission, causes};
use crate::world::installation::USER;
use crate::world::{Cluster, DRIVER, STATEFULSET_CONTROLLER};

/// The clients, by account.
pub(super) struct Clients {
    pub(super) admin: kube::Client,
    pub(super) ours: kube::Client,
    pub(super) sets: kube::Client,
}

impl Clients {
    /// The clients of the administrator, of our controller and of the StatefulSet controller, each with its rights.
    pub(super) async fn new(cluster: &Cluster) -> anyhow::Result<Self> {
        let accounts = ["system:serviceaccounts", "system:authenticated"];
        Ok(Self {
            admin: cluster.client().await?,
            ours: cluster.client_for(USER, &accounts).await?,
            sets: cluster.client_for(STATEFULSET_CONTROLLER, &accounts).await?,
        })
    }
}

/// The namespace of a sequence.
pub(super) struct Real<'a> {
    pub(super) clients: &'a Clients,
    pub(super) namespace: String,
    /// The slots of claims that are in use.
    pub(super) mounted: BTreeSet<u8>,
    pub(super) revisions: Revisions,
    pub(super) quota: Option<u8>,
    /// The previous state of each object.
    known: BTreeMap<String, Known>,
}

/// The previous state of an object.
struct Known {
    uid: String,
    version: String,
    content: Value,
    owners: Value,
    /// The number of changes.
    changes: u64,
    /// The number of writes.
    writes: u64,
}

/// The body of a request.
pub(super) enum Body {
    Nothing,
    Json(Value),
    Merge(Value),
    Apply(Value),
}

/// The response.
pub(super) type Reply = Result<Value, Box<Status>>;

/// Sends a request.
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
    pub(super) async fn new(clients: &'a Clients, namespace: &str, mode: PolicyMode) -> anyhow::Result<Self> {
        let real = Self {
            clients,
            namespace: namespace.to_owned(),
            mounted: BTreeSet::new(),
            revisions: Revisions::default(),
            quota: None,
            known: BTreeMap::new(),
        };
        let labels = json!({admission::LABEL: admission::label(mode)});
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

    /// The number of changes of an object. The model does not have writes that change only who owns which field,
    /// except for the fields in `words`; and not the first write after the creation of an object, if that changes
    /// nothing.
    pub(super) fn changes(&mut self, name: &str, object: &Value, words: &str) -> u64 {
        let mut content = object.clone();
        let metadata = &mut content["metadata"];
        let owners = metadata["managedFields"].take();
        let text = |value: Value| value.as_str().unwrap_or_default().to_owned();
        let (version, uid) = (text(metadata["resourceVersion"].take()), text(metadata["uid"].clone()));
        content["words"] = words.into();
        let fresh = Known {
            uid,
            version,
            content,
            owners,
            changes: 0,
            writes: 0,
        };
        let Some(known) = self.known.get_mut(name).filter(|known| known.uid == fresh.uid) else {
            self.known.insert(name.to_owned(), fresh);
            return 0;
        };
        let (mut changes, mut writes) = (known.changes, known.writes);
        if known.version != fresh.version {
            writes += 1;
            let is_first = writes == 1 && known.owners == fresh.owners;
            let changes_only_owners = known.owners != fresh.owners;
            if known.content != fresh.content || !(is_first || changes_only_owners) {
                changes += 1;
            }
        }
        *known = Known {
            changes,
            writes,
            ..fresh
        };
        changes
    }

    /// Removes objects outside the namespace.
    pub(super) async fn leave(&self) -> anyhow::Result<()> {
        let class = format!("/apis/storage.k8s.io/v1/storageclasses/{}", self.namespace);
        self.must("DELETE", class, Body::Nothing).await.map(drop)
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

    /// A request of the administrator that must succeed.
    pub(super) async fn must(&self, method: &str, path: String, body: Body) -> anyhow::Result<Value> {
        let reply = call(&self.clients.admin, method, &path, body).await?;
        reply.map_err(|status| anyhow::anyhow!("{method} {path}: {} {}", status.code, status.message))
    }

    /// An object, if it exists.
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

    /// The revision of a target, as the policy computes it.
    pub(super) fn revision(&mut self, target: &ModelTarget) -> anyhow::Result<String> {
        let templates = ClaimTemplate::read_list(&self.templates(target)?.to_string())?;
        let revision = Revision::of(&templates);
        self.revisions.learn(&revision, target);
        Ok(revision.to_string())
    }

    /// A user changes an object.
    pub(super) async fn merge(&self, path: &str, body: Value) -> anyhow::Result<String> {
        let path = format!("{path}?fieldManager=kubectl");
        self.send(&self.clients.admin, "PATCH", &path, Body::Merge(body)).await
    }

    /// Our controller changes an object.
    pub(super) async fn merge_as_ours(&self, path: &str, body: Value) -> anyhow::Result<String> {
        let path = format!("{path}?fieldManager={FIELD_MANAGER}");
        self.send(&self.clients.ours, "PATCH", &path, Body::Merge(body)).await
    }

    /// Our controller applies an object.
    pub(super) async fn apply_as_ours(&self, path: &str, body: Value) -> anyhow::Result<String> {
        let path = format!("{path}?fieldManager={FIELD_MANAGER}&force=true");
        self.send(&self.clients.ours, "PATCH", &path, Body::Apply(body)).await
    }

    /// Sends a request; returns the answer as text.
    pub(super) async fn send(
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

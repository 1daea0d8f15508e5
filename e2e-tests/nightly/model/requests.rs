//! Each request as HTTP, with the account that sends it in a cluster.

use anyhow::Context as _;
use claim_rollout::sim::dialogue::{ModelRequest, ModelTarget, SetEdit, WritePrecondition, target_of, templates};
use claim_rollout::templates::{ClaimTemplate, Phase, StagedChange, Staging, UpdatePolicy, keys};
use serde_json::{Value, json};

use super::real::{Body, Real};

/// The staging of new staged changes.
pub(super) const STAGING: &str = "xz245";

/// No object has this uid.
pub(super) const NO_UID: &str = "00000000-0000-4000-8000-000000000000";
const NO_VERSION: &str = "1";
/// The answer to a write that succeeded.
pub(super) const DONE: &str = "Done";

/// The reference to a controller.
pub(super) fn owner(kind: &str, uid: &str) -> Value {
    json!([{"apiVersion": "apps/v1", "kind": kind, "name": "web", "uid": uid, "controller": true}])
}

/// The metadata with the uid and the version that a write names.
pub(super) fn named(
    uid: Option<WritePrecondition>,
    version: Option<WritePrecondition>,
    known: Option<&Value>,
) -> Value {
    let known = |key: &str, otherwise: &str| {
        let known = known.and_then(|object| object["metadata"][key].as_str());
        known.unwrap_or(otherwise).to_owned()
    };
    let mut metadata = json!({});
    if let Some(which) = uid {
        metadata["uid"] = match which {
            WritePrecondition::Now => known("uid", NO_UID).into(),
            WritePrecondition::Other => NO_UID.into(),
        };
    }
    if let Some(which) = version {
        metadata["resourceVersion"] = match which {
            WritePrecondition::Now => known("resourceVersion", NO_VERSION).into(),
            WritePrecondition::Other => NO_VERSION.into(),
        };
    }
    metadata
}

impl Real<'_> {
    /// Sends a request; returns the answer as text.
    pub(super) async fn ask(&mut self, request: &ModelRequest) -> anyhow::Result<String> {
        let set = format!("{}/web", self.path("statefulsets"));
        match *request {
            ModelRequest::Apply(slot, uid, version, target, revision) => {
                self.count_for_quota(false).await?;
                self.apply(slot, (uid, version), &target, &revision).await
            }
            ModelRequest::StagedChange(uid, version, target, complete) => {
                let known = self.get("statefulsets", "web").await?;
                let mut metadata = named(uid, version, known.as_ref());
                let uid = known.as_ref().and_then(|set| set["metadata"]["uid"].as_str());
                let staged = self.staged_of(known.as_ref(), &target, complete, uid.unwrap_or(NO_UID))?;
                // As our controller writes it: no Pod waits at the end of a rollout.
                let annotations = known.as_ref().map(|set| &set["metadata"]["annotations"]);
                let policy =
                    annotations.and_then(|annotations| annotations[keys::UPDATE_POLICY].as_str()?.parse().ok());
                let phase = if complete { Phase::Complete } else { Phase::RollingOut };
                let phase = phase.flat(policy.unwrap_or(UpdatePolicy::InPlace));
                metadata["annotations"] = json!({keys::STAGED: staged, keys::PHASE: phase, keys::READY: null});
                self.merge_as_ours(&set, json!({"metadata": metadata})).await
            }
            ModelRequest::Ready(uid, version, ready) => {
                let known = self.get("statefulsets", "web").await?;
                let mut metadata = named(uid, version, known.as_ref());
                let ready = match ready {
                    Some((target, ordinal)) => json!(format!("{}.{ordinal}", self.revision(&target)?)),
                    None => Value::Null,
                };
                metadata["annotations"] = json!({keys::READY: ready});
                self.merge_as_ours(&set, json!({"metadata": metadata})).await
            }
            ModelRequest::Report(target, content) => self.report(&target, content).await,
            ModelRequest::Create(replicas, target) => self.create(replicas, &target).await,
            ModelRequest::Update(ref edits) => {
                let body = self.edited(edits).await?;
                self.merge(&set, body).await
            }
            ModelRequest::Remove(orphan) => self.remove(orphan).await,
            ModelRequest::Owned(owned) => {
                let owners = if owned { owner("Operator", NO_UID) } else { Value::Null };
                self.merge(&set, json!({"metadata": {"ownerReferences": owners}})).await
            }
            ModelRequest::Observe => {
                let Some(known) = self.get("statefulsets", "web").await? else {
                    return Ok("NotFound".to_owned());
                };
                let image = &known["spec"]["template"]["spec"]["containers"][0]["image"];
                let status = json!({
                    "observedGeneration": known["metadata"]["generation"], "replicas": 0, "updateRevision": image,
                });
                self.merge(&format!("{set}/status"), json!({"status": status})).await
            }
            ModelRequest::Sibling(there) => self.set_sibling(there).await.map(|()| DONE.to_owned()),
            ModelRequest::Quota(quota) => self.set_quota(quota).await.map(|()| DONE.to_owned()),
            ModelRequest::Expandable(expandable) => self.set_expandable(expandable).await.map(|()| DONE.to_owned()),
            _ => self.ask_about_claim(request).await,
        }
    }

    /// Spec and status, which are one request in the model.
    async fn report(&mut self, target: &ModelTarget, content: u32) -> anyhow::Result<String> {
        let set = self.get("statefulsets", "web").await?.context("a set")?;
        let uid = &set["metadata"]["uid"];
        let owners = json!([{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": uid}]);
        let revision = target.to_string();
        let spec = json!({
            "setRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": uid},
            "revision": revision, "templates": [], "updatePolicy": "InPlace", "sync": "LockStep", "replaceSet": "Never",
        });
        let of = |metadata: Value, part: &str, content: Value| json!({"apiVersion": "claim-rollout.io/v1alpha1", "kind": "ClaimRollout", "metadata": metadata, part: content});
        let path = format!("{}/web", self.path("claimrollouts"));
        let metadata = json!({"name": "web", "ownerReferences": owners});
        let answer = self.apply_as_ours(&path, of(metadata, "spec", spec)).await?;
        if answer != DONE {
            return Ok(answer);
        }
        let status = json!({
            "observedGeneration": 1, "currentRevision": content.to_string(), "updateRevision": revision,
            "volumeClaimTemplates": [], "claims": [], "conditions": [],
        });
        let body = of(json!({"name": "web"}), "status", status);
        self.apply_as_ours(&format!("{path}/status"), body).await
    }

    async fn create(&mut self, replicas: u8, target: &ModelTarget) -> anyhow::Result<String> {
        let set = json!({
            "metadata": {"name": "web"},
            "spec": {
                "replicas": replicas,
                "serviceName": "web",
                "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": {"app": "web"}},
                    "spec": {"containers": [{"name": "main", "image": "i:0"}]},
                },
                "volumeClaimTemplates": self.templates(target)?,
            },
        });
        let path = format!("{}?fieldManager=kubectl", self.path("statefulsets"));
        self.send(&self.clients.admin, "POST", &path, Body::Json(set)).await
    }

    /// The templates of a target, with the StorageClass of this namespace.
    pub(super) fn templates(&self, target: &ModelTarget) -> anyhow::Result<Value> {
        let mut list: Value = serde_json::from_str(&templates(target))?;
        for template in list.as_array_mut().into_iter().flatten() {
            template["spec"]["storageClassName"] = self.namespace.clone().into();
            // A default of the API server: a revision covers all fields of a template.
            template["spec"]["volumeMode"] = "Filesystem".into();
        }
        Ok(list)
    }

    /// A staged change that no policy has written, based on the existing one as our controller does.
    fn staged_of(
        &self,
        set: Option<&Value>,
        target: &ModelTarget,
        complete: bool,
        uid: &str,
    ) -> anyhow::Result<String> {
        let staged = set.and_then(|set| set["metadata"]["annotations"][keys::STAGED].as_str());
        let known = staged.and_then(|staged| {
            let its: Value = serde_json::from_str(staged).ok()?;
            StagedChange::read(staged, its["uid"].as_str()?).ok()
        });
        let same = known.as_ref().filter(|known| target_of(&known.templates) == *target);
        let templates = match same {
            Some(known) => known.templates.clone(),
            None => ClaimTemplate::read_list(&self.templates(target)?.to_string())?,
        };
        let staging = same.map_or_else(
            || Staging::read(STAGING).expect("a staging"),
            |known| known.staging.clone(),
        );
        let (by, manager, replicas) = known.map_or(("alice".to_owned(), "kubectl".to_owned(), 0), |known| {
            (known.by, known.manager, known.replicas)
        });
        let change = StagedChange {
            by,
            manager,
            phase: if complete { Phase::Complete } else { Phase::RollingOut },
            replicas,
            staging,
            templates,
            uid: uid.to_owned(),
            update_policy: UpdatePolicy::InPlace,
        };
        Ok(change.write()?)
    }

    /// The merge patch of a user.
    async fn edited(&mut self, edits: &[SetEdit]) -> anyhow::Result<Value> {
        let mut body = json!({"metadata": {"annotations": {}}, "spec": {}});
        for edit in edits {
            let annotations = &mut body["metadata"]["annotations"];
            match *edit {
                SetEdit::Paused(paused) => annotations[keys::PAUSED] = json!(paused.then_some("true")),
                SetEdit::Async(asynchronous) => annotations[keys::SYNC] = json!(asynchronous.then_some("Async")),
                SetEdit::InPlace(policy) => {
                    let word = |in_place| if in_place { "InPlace" } else { "OnClaimDelete" };
                    annotations[keys::UPDATE_POLICY] = json!(policy.map(word));
                }
                SetEdit::Withdraw(target) => annotations[keys::WITHDRAW] = self.revision(&target)?.into(),
                SetEdit::Staged(target, mine) => {
                    let known = self.get("statefulsets", "web").await?;
                    let uid = known.as_ref().and_then(|set| set["metadata"]["uid"].as_str());
                    let uid = uid.filter(|_| mine).unwrap_or(NO_UID);
                    annotations[keys::STAGED] = self.staged_of(known.as_ref(), &target, false, uid)?.into();
                }
                SetEdit::Replicas(replicas) => body["spec"]["replicas"] = replicas.into(),
                SetEdit::Image(image) => {
                    let containers = json!([{"name": "main", "image": format!("i:{image}")}]);
                    body["spec"]["template"] = json!({"spec": {"containers": containers}});
                }
                SetEdit::Templates(target) => body["spec"]["volumeClaimTemplates"] = self.templates(&target)?,
                SetEdit::Partition(partition) => {
                    body["spec"]["updateStrategy"] = json!({"rollingUpdate": {"partition": partition}});
                }
                SetEdit::OnDelete(true) => {
                    body["spec"]["updateStrategy"] = json!({"type": "OnDelete", "rollingUpdate": null});
                }
                SetEdit::OnDelete(false) => {
                    let strategy = json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}});
                    body["spec"]["updateStrategy"] = strategy;
                }
            }
        }
        Ok(body)
    }

    /// Deletes the set. Dependents are deleted or orphaned, as the garbage collector does.
    async fn remove(&self, orphan: bool) -> anyhow::Result<String> {
        let set = format!("{}/web", self.path("statefulsets"));
        let known = self.get("statefulsets", "web").await?;
        let uid = known.map(|set| set["metadata"]["uid"].clone());
        let propagation = if orphan { "Orphan" } else { "Background" };
        let path = format!("{set}?propagationPolicy={propagation}");
        let answer = self.send(&self.clients.admin, "DELETE", &path, Body::Nothing).await?;
        if answer != DONE {
            return Ok(answer);
        }
        let no_owner = || json!({"metadata": {"ownerReferences": null}});
        if orphan {
            for claim in self.claims().await? {
                if Some(&claim["metadata"]["ownerReferences"][0]["uid"]) == uid.as_ref() {
                    let name = claim["metadata"]["name"].as_str().context("a name")?;
                    let path = format!("{}/{name}", self.path("persistentvolumeclaims"));
                    self.must("PATCH", path, Body::Merge(no_owner())).await?;
                }
            }
            let finalizers = json!({"metadata": {"finalizers": null}});
            self.must("PATCH", set, Body::Merge(finalizers)).await?;
        }
        if self.get("claimrollouts", "web").await?.is_some() {
            let path = format!("{}/web", self.path("claimrollouts"));
            self.must("DELETE", path, Body::Nothing).await?;
        }
        Ok(answer)
    }
}

//! Requests about claims: of our controller, of other controllers, and of users.

use anyhow::Context as _;
use claim_rollout::sim::dialogue::{Holder, ModelRequest, ModelTarget, ModifyState, ResizeState, WritePrecondition};
use claim_rollout::templates::keys;
use serde_json::{Value, json};

use super::real::{Body, Real};
use super::requests::{DONE, NO_UID, STAGING, named, owner};

/// The name of the claim in a slot: five slots for each of two templates.
fn name(slot: u8) -> String {
    let template = if slot < 5 { "data" } else { "data-a" };
    format!("{template}-web-{}", slot % 5)
}

fn class(class: u8) -> Value {
    if class == 0 {
        Value::Null
    } else {
        format!("class-{class}").into()
    }
}

impl Real<'_> {
    /// Sends a request; returns the answer as text.
    pub(super) async fn ask_about_claim(&mut self, request: &ModelRequest) -> anyhow::Result<String> {
        let path = |real: &Self, slot: u8| format!("{}/{}", real.path("persistentvolumeclaims"), name(slot));
        match *request {
            ModelRequest::NewClaim(slot) => {
                self.count_for_quota(false).await?;
                self.create_claim(slot).await
            }
            ModelRequest::Bind(slot) => self.bind(slot).await,
            ModelRequest::Status(slot, capacity, current, resize, modify) => {
                let status = status(capacity, current, resize, modify);
                let path = format!("{}/status", path(self, slot));
                self.merge(&path, json!({"status": status})).await
            }
            ModelRequest::Size(slot, size) => {
                self.count_for_quota(false).await?;
                let storage = json!({"requests": {"storage": format!("{size}Gi")}});
                self.merge(&path(self, slot), json!({"spec": {"resources": storage}}))
                    .await
            }
            ModelRequest::Class(slot, wanted) => {
                let spec = json!({"volumeAttributesClassName": class(wanted)});
                self.merge(&path(self, slot), json!({"spec": spec})).await
            }
            ModelRequest::DropLabel(slot) => {
                let labels = json!({keys::REVISION: null});
                self.merge(&path(self, slot), json!({"metadata": {"labels": labels}}))
                    .await
            }
            ModelRequest::Select(slot, selected) => {
                let labels = json!({"app": selected.then_some("web")});
                self.merge(&path(self, slot), json!({"metadata": {"labels": labels}}))
                    .await
            }
            ModelRequest::Own(slot, holder) => {
                let owners = match holder {
                    Holder::Nobody => Value::Null,
                    Holder::Stranger => owner("Backup", NO_UID),
                    Holder::Set => {
                        let set = self.get("statefulsets", "web").await?.context("a set")?;
                        owner("StatefulSet", set["metadata"]["uid"].as_str().context("a uid")?)
                    }
                };
                let body = json!({"metadata": {"ownerReferences": owners}});
                self.merge(&path(self, slot), body).await
            }
            ModelRequest::Delete(slot) => {
                let path = path(self, slot);
                let answer = self.send(&self.clients.admin, "DELETE", &path, Body::Nothing).await?;
                // The finalizer of a claim that is not in use is removed.
                if answer == DONE && !self.mounted.contains(&slot) {
                    self.release(slot).await?;
                }
                Ok(answer)
            }
            ModelRequest::Release(slot) => self.release(slot).await,
            ModelRequest::Mount(slot, mounted) => Ok(self.note(slot, mounted)),
            ref other => anyhow::bail!("{other:?} is not about a claim"),
        }
    }

    /// Remembers whether a claim is in use; nothing is sent.
    fn note(&mut self, slot: u8, mounted: bool) -> String {
        if mounted {
            self.mounted.insert(slot);
        } else {
            self.mounted.remove(&slot);
        }
        DONE.to_owned()
    }

    async fn release(&self, slot: u8) -> anyhow::Result<String> {
        let path = format!("{}/{}", self.path("persistentvolumeclaims"), name(slot));
        self.merge(&path, json!({"metadata": {"finalizers": null}})).await
    }

    /// An apply of our controller.
    pub(super) async fn apply(
        &mut self,
        slot: u8,
        names: (Option<WritePrecondition>, Option<WritePrecondition>),
        target: &ModelTarget,
        revision: &ModelTarget,
    ) -> anyhow::Result<String> {
        let known = self.get("persistentvolumeclaims", &name(slot)).await?;
        let want = target.wants.first().context("a template")?;
        let mut metadata = named(names.0, names.1, known.as_ref());
        metadata["name"] = name(slot).into();
        // The model has one staging for each target.
        let revision = self.revision(revision)?;
        let carried = known
            .as_ref()
            .and_then(|claim| claim["metadata"]["labels"][keys::REVISION].as_str());
        let carried = carried.filter(|label| label.split('.').next() == Some(&*revision));
        let label = carried.map_or_else(|| format!("{revision}.{STAGING}"), str::to_owned);
        metadata["labels"] = json!({keys::REVISION: label});
        if want.tier != 0 {
            metadata["labels"]["tier"] = format!("t{}", want.tier).into();
        }
        let mut spec = json!({"resources": {"requests": {"storage": format!("{}Gi", want.size)}}});
        if want.class != 0 {
            spec["volumeAttributesClassName"] = class(want.class);
        }
        let body = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec});
        let path = format!("{}/{}", self.path("persistentvolumeclaims"), name(slot));
        self.apply_as_ours(&path, body).await
    }

    /// Creates a claim of a template, as the StatefulSet controller does.
    async fn create_claim(&self, slot: u8) -> anyhow::Result<String> {
        let set = self.get("statefulsets", "web").await?.context("a set")?;
        let template = &set["spec"]["volumeClaimTemplates"][usize::from(slot / 5)];
        let mut labels = template["metadata"]["labels"].clone();
        if labels.is_null() {
            labels = json!({});
        }
        labels["app"] = "web".into();
        let claim = json!({
            "metadata": {"name": name(slot), "labels": labels},
            "spec": template["spec"],
        });
        let path = format!(
            "{}?fieldManager=kube-controller-manager",
            self.path("persistentvolumeclaims")
        );
        self.send(&self.clients.sets, "POST", &path, Body::Json(claim)).await
    }

    /// Binds a volume, in the two writes of the volume controller.
    async fn bind(&self, slot: u8) -> anyhow::Result<String> {
        let path = format!("{}/{}", self.path("persistentvolumeclaims"), name(slot));
        let claim = self
            .get("persistentvolumeclaims", &name(slot))
            .await?
            .context("a claim")?;
        let volume = format!("pv-{}", claim["metadata"]["uid"].as_str().context("a uid")?);
        self.must(
            "PATCH",
            path.clone(),
            Body::Merge(json!({"spec": {"volumeName": volume}})),
        )
        .await?;
        let status = json!({
            "phase": "Bound",
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]},
            "currentVolumeAttributesClassName": claim["spec"]["volumeAttributesClassName"],
        });
        self.merge(&format!("{path}/status"), json!({"status": status})).await
    }
}

/// The status that the resizer writes.
fn status(capacity: u8, current: u8, resize: ResizeState, modify: ModifyState) -> Value {
    let resize = match resize {
        ResizeState::None => None,
        ResizeState::Controller => Some("ControllerResizeInProgress"),
        ResizeState::ControllerInfeasible => Some("ControllerResizeInfeasible"),
        ResizeState::Node => Some("NodeResizePending"),
    };
    let modify = match modify {
        ModifyState::None => Value::Null,
        status => json!({"status": format!("{status:?}"), "targetVolumeAttributesClassName": "class-1"}),
    };
    json!({
        "capacity": {"storage": format!("{capacity}Gi")},
        "currentVolumeAttributesClassName": class(current),
        "allocatedResourceStatuses": resize.map(|resize| json!({"storage": resize})),
        "modifyVolumeStatus": modify,
    })
}

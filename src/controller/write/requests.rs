//! The requests of the actions of a plan.

use std::collections::BTreeMap;

use kube::api::{Api, Patch, PatchParams};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::changed_writes;
use crate::api::{ApiOutcome, Seconds, SetVersion, time};
use crate::claims;
use crate::controller::calls::api_calls::{FIELD_MANAGER, call, merge, shorten};
use crate::controller::objects::claim::SlimClaim;
use crate::controller::objects::set::Patched;
use crate::controller::read::managers;
use crate::controller::read::managers::FieldsEntry;
use crate::gate::readiness::CHANGED_BY_OTHERS;
use crate::rollout::{ApplyClaim, SetReady, SetStaged, SetStagedAt};
use crate::templates::{HELD, StagedChange, StagedError, UpdatePolicy, keys};

/// The body of an apply: the fields of the action and no others (S2).
pub(crate) fn body(apply: &ApplyClaim) -> Value {
    let label = apply.label.to_string();
    let mut labels: BTreeMap<&str, &str> = apply
        .labels
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    labels.insert(keys::REVISION, &label);
    let mut body = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": apply.name.as_str(),
            "uid": apply.uid,
            "resourceVersion": apply.resource_version,
            "labels": labels,
        },
        "spec": { "resources": { "requests": { "storage": apply.storage.to_string() } } },
    });
    if !apply.annotations.is_empty() {
        body["metadata"]["annotations"] = json!(apply.annotations);
    }
    if let Some(class) = &apply.volume_attributes_class_name {
        body["spec"]["volumeAttributesClassName"] = json!(class);
    }
    body
}

/// Applies to a PVC and returns the reply, or the message of a failure. If the reply differs from what was sent, the apply
/// counts as denied.
pub(super) async fn apply_claim(claims: &Api<SlimClaim>, apply: &ApplyClaim) -> ApiOutcome<claims::Claim> {
    let params = PatchParams::apply(FIELD_MANAGER).force();
    let body = body(apply);
    let patch = Patch::Apply(&body);
    let written = call(claims.patch(apply.name.as_str(), &params, &patch)).await;
    written.and_then(|reply| match reply.read {
        Ok(claim) => match changed_writes::of_claim(&body, apply, &reply.metadata, &claim) {
            Some(message) => ApiOutcome::Denied {
                cause: CHANGED_BY_OTHERS.to_owned(),
                message: shorten(&message),
                stored: Some(claim.resource_version),
            },
            None => ApiOutcome::Done(claim),
        },
        Err(error) => ApiOutcome::unsure(error.to_string()),
    })
}

/// The patch that writes or removes the staged change together with the phase. It also removes `ready`: no Pod waits
/// when the phase changes.
///
/// # Errors
/// [`StagedError`] if the staged change is too long. It was read from a text of at most the same length.
pub(crate) fn staged_change(action: &SetStaged) -> Result<Value, StagedError> {
    let change = action.change.as_ref();
    let mut annotations = json!({
        keys::STAGED: change.map(StagedChange::write).transpose()?,
        keys::PHASE: change.map(|change| change.phase.flat(UpdatePolicy::InPlace)),
        keys::READY: null,
    });
    if change.is_none() {
        annotations[keys::STAGED_AT] = Value::Null;
    }
    Ok(annotated(&action.set, &annotations))
}

/// The patch of the annotation `ready`.
pub(crate) fn ready(action: &SetReady) -> Value {
    let ready = action.ready.as_ref().map(ToString::to_string);
    annotated(&action.set, &json!({ keys::READY: ready }))
}

/// The patch that notes that the staging is not rolled out.
pub(crate) fn hold(set: &SetVersion) -> Value {
    annotated(set, &json!({ keys::READY: HELD }))
}

/// The patch of the annotation `staged-at`; `None` if the time has no text.
pub(crate) fn staged_at(action: &SetStagedAt, at: Seconds) -> Option<Value> {
    let annotations = json!({ keys::STAGED_AT: time::write(at)? });
    Some(annotated(&action.set, &annotations))
}

fn annotated(SetVersion { uid, resource_version }: &SetVersion, annotations: &Value) -> Value {
    json!({ "metadata": { "uid": uid, "resourceVersion": resource_version, "annotations": annotations } })
}

/// Patches a set. If the reply differs from what was sent, the patch counts as denied.
pub(crate) async fn patch(sets: &Api<Patched>, name: &str, body: &Value) -> ApiOutcome<Patched> {
    let written = call(sets.patch(name, &merge(), &Patch::Merge(body))).await;
    written.and_then(|reply| match changed_writes::of_set(body, &reply.metadata) {
        Some(message) => ApiOutcome::Denied {
            cause: changed_writes::CAUSE.to_owned(),
            message,
            stored: reply.metadata.resource_version,
        },
        None => ApiOutcome::Done(reply),
    })
}

/// The time of a patch of a set by the clock of the API server, by dry run: that of our entry in the managed fields.
pub(super) async fn server_time(sets: &Api<Patched>, name: &str, body: &Value) -> ApiOutcome<Seconds> {
    let params = PatchParams {
        dry_run: true,
        ..merge()
    };
    let written = call(sets.patch(name, &params, &Patch::Merge(body))).await;
    written.and_then(|reply| match written_at(reply.managed_fields.as_deref()) {
        Some(time) => ApiOutcome::Done(time),
        None => {
            let message = format!("the reply does not show when {} is written", keys::STAGED_AT);
            ApiOutcome::denied("Refused", message)
        }
    })
}

/// When we wrote the annotation `staged-at`, by the managed fields.
fn written_at(managed_fields: Option<&RawValue>) -> Option<Seconds> {
    let entries = managers::entries(managed_fields);
    let is_ours = |entry: &&FieldsEntry| entry.manager.as_deref() == Some(FIELD_MANAGER) && entry.owns_staged_at();
    entries.iter().find(is_ours)?.seconds()
}

#[cfg(test)]
#[path = "requests_tests.rs"]
mod tests;

//! Calls of the API, their outcomes, and the bodies of writes.

use std::collections::BTreeMap;

use kube::api::{Api, Patch, PatchParams};
use kube::core::Status;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::read::managers::FieldsEntry;
use super::read::{item, managers};
use super::slim_claim::Applied;
use super::slim_set::Patched;
use super::{patience, undone};
use crate::api::{Seconds, time};
use crate::claims;
use crate::rollout::{ApplyClaim, HoldStaged, Refusal, SetReady, SetStaged, SetStagedAt};
use crate::templates::{HELD, StagedChange, StagedError, UpdatePolicy, keys};

/// The field manager of every write.
pub const FIELD_MANAGER: &str = claims::Manager::OURS;

/// The maximum length of a message of the API server that is kept, in characters.
const MAX_MESSAGE: usize = 512;

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ApiOutcome<T> {
    /// The call succeeded, with this reply.
    Done(T),
    /// The object has changed since it was read.
    Conflict,
    /// The object does not exist, or another one has its name.
    NotFound,
    /// The API server denied the call.
    Denied {
        /// The reason in the status.
        cause: String,
        /// The message in the status.
        message: String,
        /// The resourceVersion, if the API server stored something else.
        stored: Option<String>,
    },
    /// It is unknown whether the call succeeded.
    Unsure {
        /// The cause, for the log.
        why: String,
        /// The seconds that the API server asked to wait.
        retry_after: Option<u32>,
    },
}

impl<T> ApiOutcome<T> {
    /// The value of the metric label `outcome`.
    #[must_use]
    pub(super) const fn as_str(&self) -> &'static str {
        match self {
            Self::Done(_) => "done",
            Self::Conflict => "conflict",
            Self::NotFound => "not_found",
            Self::Denied { .. } => "refused",
            Self::Unsure { .. } => "unsure",
        }
    }

    /// The reason of a write that was denied with this outcome again and again.
    #[must_use]
    pub(super) const fn reason(&self) -> &'static str {
        match self {
            Self::NotFound => "NotFound",
            _ => "Conflict",
        }
    }

    /// Converts the reply, and keeps every other outcome.
    pub(super) fn and_then<U>(self, read: impl FnOnce(T) -> ApiOutcome<U>) -> ApiOutcome<U> {
        match self {
            Self::Done(reply) => read(reply),
            Self::Conflict => ApiOutcome::Conflict,
            Self::NotFound => ApiOutcome::NotFound,
            Self::Denied { cause, message, stored } => ApiOutcome::Denied { cause, message, stored },
            Self::Unsure { why, retry_after } => ApiOutcome::Unsure { why, retry_after },
        }
    }
}

/// Waits for a call with a timeout.
pub(super) async fn call<T>(call: impl Future<Output = kube::Result<T>>) -> ApiOutcome<T> {
    call_with_message(call).await.0
}

/// The same, with the message of a failure.
pub(super) async fn call_with_message<T>(call: impl Future<Output = kube::Result<T>>) -> (ApiOutcome<T>, String) {
    classified(patience::answered(call).await)
}

/// The outcome of a read of several calls, each with its timeout.
pub(super) fn outcome<T>(result: kube::Result<T>) -> ApiOutcome<T> {
    classified(result).0
}

/// The outcome, with the message of a failure.
fn classified<T>(result: kube::Result<T>) -> (ApiOutcome<T>, String) {
    let outcome = match result {
        Ok(reply) => ApiOutcome::Done(reply),
        Err(kube::Error::Api(status)) => {
            let message = format!("{} {}", status.code, shorten(&status.message));
            return (outcome_of(*status), message);
        }
        Err(error) => ApiOutcome::Unsure {
            why: text(&error),
            retry_after: None,
        },
    };
    (outcome, String::new())
}

/// The message of an error, without a value of an object, which that of serde may quote.
pub(super) fn text(error: &kube::Error) -> String {
    match error {
        kube::Error::SerdeError(error) => format!("the response cannot be read: {}", item::place(error)),
        kube::Error::Service(error) => error.to_string(),
        error => error.to_string(),
    }
}

/// Classifies a failure status of the API server.
pub(super) fn outcome_of<T>(status: Status) -> ApiOutcome<T> {
    let is_other_uid = status
        .details
        .iter()
        .flat_map(|details| &details.causes)
        .any(|cause| cause.field == "metadata.uid");
    let retry_after = status
        .details
        .as_ref()
        .map(|details| details.retry_after_seconds)
        .filter(|seconds| *seconds > 0);
    match status.code {
        404 | 410 => ApiOutcome::NotFound,
        409 => ApiOutcome::Conflict,
        422 if is_other_uid => ApiOutcome::NotFound,
        // 401: the token is being renewed. 408: the server gave up waiting.
        401 | 408 | 429 | 500.. => ApiOutcome::Unsure {
            why: format!("{} {}", status.code, status.message),
            retry_after,
        },
        _ => {
            let cause = if status.reason.is_empty() {
                "Refused".to_owned()
            } else {
                status.reason
            };
            ApiOutcome::Denied {
                cause,
                message: shorten(&status.message),
                stored: None,
            }
        }
    }
}

/// The first line of a message, up to the maximum length.
pub(super) fn shorten(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    line.chars().take(MAX_MESSAGE).collect()
}

/// The body of an apply: the fields of the action and no others (S2).
pub(super) fn body(apply: &ApplyClaim) -> Value {
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
pub(super) async fn apply_claim(claims: &Api<Applied>, apply: &ApplyClaim) -> (ApiOutcome<claims::Claim>, String) {
    let params = PatchParams::apply(FIELD_MANAGER).force();
    let body = body(apply);
    let patch = Patch::Apply(&body);
    let (outcome, message) = call_with_message(claims.patch(apply.name.as_str(), &params, &patch)).await;
    let outcome = outcome.and_then(|reply| match reply.read {
        Ok(claim) => match undone::of_claim(&body, apply, &reply.metadata, &claim) {
            Some(message) => ApiOutcome::Denied {
                cause: Refusal::CHANGED_BY_OTHERS.to_owned(),
                message: shorten(&message),
                stored: Some(claim.resource_version),
            },
            None => ApiOutcome::Done(claim),
        },
        Err(error) => ApiOutcome::Unsure {
            why: error.to_string(),
            retry_after: None,
        },
    });
    (outcome, message)
}

/// The patch that writes or removes the staged change together with the phase. It also removes `ready`: no Pod waits
/// when the phase changes.
///
/// # Errors
/// [`StagedError`] if the staged change is too long. It was read from a text of at most the same length.
pub(super) fn staged_change(action: &SetStaged) -> Result<Value, StagedError> {
    let change = action.change.as_ref();
    let mut annotations = json!({
        keys::STAGED: change.map(StagedChange::write).transpose()?,
        keys::PHASE: change.map(|change| change.phase.flat(UpdatePolicy::InPlace)),
        keys::READY: null,
    });
    if change.is_none() {
        annotations[keys::STAGED_AT] = Value::Null;
    }
    Ok(annotated(&action.set_uid, &action.resource_version, &annotations))
}

/// The patch of the annotation `ready`.
pub(super) fn ready(action: &SetReady) -> Value {
    let ready = action.ready.as_ref().map(ToString::to_string);
    annotated(
        &action.set_uid,
        &action.resource_version,
        &json!({ keys::READY: ready }),
    )
}

/// The patch that notes that the staging is not rolled out.
pub(super) fn hold(action: &HoldStaged) -> Value {
    annotated(&action.set_uid, &action.resource_version, &json!({ keys::READY: HELD }))
}

/// The patch of the annotation `staged-at`; `None` if the time has no text.
pub(super) fn staged_at(action: &SetStagedAt, at: Seconds) -> Option<Value> {
    let annotations = json!({ keys::STAGED_AT: time::write(at)? });
    Some(annotated(&action.set_uid, &action.resource_version, &annotations))
}

fn annotated(uid: &str, resource_version: &str, annotations: &Value) -> Value {
    json!({ "metadata": { "uid": uid, "resourceVersion": resource_version, "annotations": annotations } })
}

/// Patches a set. If the reply differs from what was sent, the patch counts as denied.
pub(super) async fn patch(sets: &Api<Patched>, name: &str, body: &Value) -> (ApiOutcome<Patched>, String) {
    let (outcome, answer) = call_with_message(sets.patch(name, &merge(), &Patch::Merge(body))).await;
    let outcome = outcome.and_then(|reply| match undone::of_set(body, &reply.metadata) {
        Some(message) => ApiOutcome::Denied {
            cause: undone::CAUSE.to_owned(),
            message,
            stored: reply.metadata.resource_version,
        },
        None => ApiOutcome::Done(reply),
    });
    (outcome, answer)
}

/// The time of a patch of a set by the clock of the API server, by dry run: that of our entry in the managed fields.
pub(super) async fn server_time(sets: &Api<Patched>, name: &str, body: &Value) -> (ApiOutcome<Seconds>, String) {
    let params = PatchParams {
        dry_run: true,
        ..merge()
    };
    let (outcome, answer) = call_with_message(sets.patch(name, &params, &Patch::Merge(body))).await;
    let outcome = outcome.and_then(|reply| match written_at(reply.managed_fields.as_deref()) {
        Some(time) => ApiOutcome::Done(time),
        None => ApiOutcome::Denied {
            cause: "Refused".to_owned(),
            message: format!("the reply does not show when {} is written", keys::STAGED_AT),
            stored: None,
        },
    });
    (outcome, answer)
}

/// When we wrote the annotation `staged-at`, by the managed fields.
fn written_at(managed_fields: Option<&RawValue>) -> Option<Seconds> {
    let entries = managers::entries(managed_fields);
    let is_ours = |entry: &&FieldsEntry| entry.manager.as_deref() == Some(FIELD_MANAGER) && entry.owns_staged_at();
    entries.iter().find(is_ours)?.seconds()
}

/// The parameters of a merge patch.
pub(super) fn merge() -> PatchParams {
    PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    }
}

#[cfg(test)]
#[path = "api_calls_tests.rs"]
mod tests;

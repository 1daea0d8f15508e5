//! Writes, and what becomes of them.

use std::collections::BTreeMap;
use std::time::Duration;

use kube::api::{Api, Patch, PatchParams};
use kube::core::Status;
use serde_json::{Value, json};

use super::slim::{Applied, Patched};
use super::{FIELD_MANAGER, undone};
use crate::claims;
use crate::rollout::{ApplyClaim, Refusal, SetReady, SetStaged};
use crate::templates::{StagedChange, StagedError, UpdatePolicy, keys};

/// How long one call may take.
pub(super) const CALL_TIMEOUT: Duration = Duration::from_secs(15);

/// The longest message of the API server that is kept.
const MAX_MESSAGE: usize = 512;

/// What became of a write.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome<T> {
    /// It was done; the reply.
    Done(T),
    /// The object has changed since: look again.
    Conflict,
    /// The object is not there any more, or another one of its name is.
    Gone,
    /// The API server will not do it.
    Refused {
        /// The reason of its status.
        cause: String,
        /// Its message.
        message: String,
        /// The resourceVersion of what it stored instead, if it did.
        stored: Option<String>,
    },
    /// It is not known whether it was done: look again later.
    Unsure {
        /// Why, for the log.
        why: String,
        /// Seconds that the API server asked to wait.
        retry_after: Option<u32>,
    },
}

impl<T> Outcome<T> {
    /// The outcome as a label.
    #[must_use]
    pub(super) const fn as_str(&self) -> &'static str {
        match self {
            Self::Done(_) => "done",
            Self::Conflict => "conflict",
            Self::Gone => "gone",
            Self::Refused { .. } => "refused",
            Self::Unsure { .. } => "unsure",
        }
    }

    /// The same outcome, or what comes of the reply.
    pub(super) fn and_then<U>(self, read: impl FnOnce(T) -> Outcome<U>) -> Outcome<U> {
        match self {
            Self::Done(reply) => read(reply),
            Self::Conflict => Outcome::Conflict,
            Self::Gone => Outcome::Gone,
            Self::Refused { cause, message, stored } => Outcome::Refused { cause, message, stored },
            Self::Unsure { why, retry_after } => Outcome::Unsure { why, retry_after },
        }
    }
}

/// Waits for a call, and says what became of it.
pub(super) async fn call<T>(call: impl Future<Output = kube::Result<T>>) -> Outcome<T> {
    match tokio::time::timeout(CALL_TIMEOUT, call).await {
        Ok(Ok(reply)) => Outcome::Done(reply),
        Ok(Err(kube::Error::Api(status))) => refusal(*status),
        Ok(Err(error)) => Outcome::Unsure {
            why: error.to_string(),
            retry_after: None,
        },
        Err(_) => Outcome::Unsure {
            why: format!("no answer within {CALL_TIMEOUT:?}"),
            retry_after: None,
        },
    }
}

/// The one place where the API server's answers are told apart.
fn refusal<T>(status: Status) -> Outcome<T> {
    let another = status
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
        404 | 410 => Outcome::Gone,
        409 => Outcome::Conflict,
        422 if another => Outcome::Gone,
        // 401: the token is being renewed. 408: the server gave up waiting.
        401 | 408 | 429 | 500.. => Outcome::Unsure {
            why: format!("{} {}", status.code, status.message),
            retry_after,
        },
        _ => {
            let cause = if status.reason.is_empty() {
                "Refused".to_owned()
            } else {
                status.reason
            };
            Outcome::Refused {
                cause,
                message: shorten(&status.message),
                stored: None,
            }
        }
    }
}

/// The first line of a message, as much of it as is kept.
pub(super) fn shorten(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    line.chars().take(MAX_MESSAGE).collect()
}

/// The body of the apply: the fields of the action and no others (S2).
pub(super) fn body(apply: &ApplyClaim) -> Value {
    let mut labels: BTreeMap<&str, &str> = apply
        .labels
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    labels.insert(keys::REVISION, apply.revision.as_str());
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

/// Applies to a claim. Done with what the claim looks like since; what comes back otherwise than it was sent counts as
/// refused.
pub(super) async fn apply_claim(claims: &Api<Applied>, apply: &ApplyClaim) -> Outcome<claims::Claim> {
    let params = PatchParams::apply(FIELD_MANAGER).force();
    let body = body(apply);
    let outcome = call(claims.patch(apply.name.as_str(), &params, &Patch::Apply(&body))).await;
    outcome.and_then(|reply| match reply.read {
        Ok(claim) => match undone::of_claim(&body, apply, &reply.metadata, &claim) {
            Some(message) => Outcome::Refused {
                cause: Refusal::CHANGED_BY_OTHERS.to_owned(),
                message: shorten(&message),
                stored: Some(claim.resource_version),
            },
            None => Outcome::Done(claim),
        },
        Err(error) => Outcome::Unsure {
            why: error.to_string(),
            retry_after: None,
        },
    })
}

/// The record of a set as it is written or taken away, and beside it how far the rollout has come; nobody waits at its end.
///
/// # Errors
/// [`StagedError`] if it cannot be written; it was read from a text of at most the same length.
pub(super) fn staged_change(action: &SetStaged) -> Result<Value, StagedError> {
    let change = action.change.as_ref();
    let annotations = json!({
        keys::STAGED: change.map(StagedChange::write).transpose()?,
        keys::PHASE: change.map(|change| change.phase.flat(UpdatePolicy::InPlace)),
        keys::READY: null,
    });
    Ok(annotated(&action.set_uid, &action.resource_version, &annotations))
}

/// Whose claims became ready, as it is written.
pub(super) fn ready(action: &SetReady) -> Value {
    let ready = action.ready.as_ref().map(ToString::to_string);
    annotated(
        &action.set_uid,
        &action.resource_version,
        &json!({ keys::READY: ready }),
    )
}

fn annotated(uid: &str, resource_version: &str, annotations: &Value) -> Value {
    json!({ "metadata": { "uid": uid, "resourceVersion": resource_version, "annotations": annotations } })
}

/// Writes to a set; what comes back otherwise than it was sent counts as refused.
pub(super) async fn patch(sets: &Api<Patched>, name: &str, body: &Value) -> Outcome<Patched> {
    let outcome = call(sets.patch(name, &merge(), &Patch::Merge(body))).await;
    outcome.and_then(|reply| match undone::of_set(body, &reply.metadata) {
        Some(message) => Outcome::Refused {
            cause: undone::CAUSE.to_owned(),
            message,
            stored: reply.metadata.resource_version,
        },
        None => Outcome::Done(reply),
    })
}

/// How a merge patch is sent.
pub(super) fn merge() -> PatchParams {
    PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    }
}

#[cfg(test)]
#[path = "act_tests.rs"]
mod tests;

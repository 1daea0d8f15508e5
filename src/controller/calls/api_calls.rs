//! Calls of the API, and their outcomes.

use kube::api::{DeleteParams, PatchParams, PostParams, Preconditions};
use kube::core::Status;

use crate::api::ApiOutcome;
use crate::claims;
use crate::controller::read::{item, patience};

/// The field manager of every write.
pub const FIELD_MANAGER: &str = claims::Manager::OURS;

/// The maximum length of a message of the API server that is kept, in characters.
const MAX_MESSAGE: usize = 512;

/// Waits for a call with a timeout.
pub(crate) async fn call<T>(call: impl Future<Output = kube::Result<T>>) -> ApiOutcome<T> {
    outcome(patience::answered(call).await)
}

/// The outcome of a call, or of several that had a timeout each.
pub(crate) fn outcome<T>(result: kube::Result<T>) -> ApiOutcome<T> {
    match result {
        Ok(reply) => ApiOutcome::Done(reply),
        Err(kube::Error::Api(status)) => outcome_of(&status),
        Err(error) => ApiOutcome::unsure(text(&error)),
    }
}

/// The message of an error, without a value of an object, which that of serde may quote.
pub(crate) fn text(error: &kube::Error) -> String {
    match error {
        kube::Error::SerdeError(error) => format!("the response cannot be read: {}", item::place(error)),
        kube::Error::Service(error) => error.to_string(),
        error => error.to_string(),
    }
}

/// Classifies a failure status of the API server.
pub(crate) fn outcome_of<T>(status: &Status) -> ApiOutcome<T> {
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
    let short = || format!("{} {}", status.code, shorten(&status.message));
    match status.code {
        404 | 410 => ApiOutcome::NotFound(short()),
        409 => ApiOutcome::Conflict(short()),
        422 if is_other_uid => ApiOutcome::NotFound(short()),
        // 401: the token is being renewed. 408: the server gave up waiting.
        401 | 408 | 429 | 500.. => ApiOutcome::Unsure {
            why: format!("{} {}", status.code, status.message),
            retry_after,
        },
        _ => {
            let cause = if status.reason.is_empty() {
                "Refused"
            } else {
                &status.reason
            };
            ApiOutcome::denied(cause, shorten(&status.message))
        }
    }
}

/// The first line of a message, up to the maximum length.
pub(crate) fn shorten(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    line.chars().take(MAX_MESSAGE).collect()
}

/// The text of a write in the log, which the end-to-end tests compare with the audit log: the verb, the object, and the
/// version or the uid that it names.
pub(crate) fn write_text([verb, resource]: [&str; 2], [namespace, name]: [&str; 2], version: &str) -> String {
    format!("{verb} {resource} {namespace}/{name} {version}")
}

/// The parameters of a merge patch.
pub(crate) fn merge() -> PatchParams {
    PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    }
}

/// The parameters of a create, or of an update.
pub(crate) fn post() -> PostParams {
    PostParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PostParams::default()
    }
}

/// The parameters of a delete of the object with this uid, in this version.
pub(crate) fn deletion(uid: Option<&str>, resource_version: Option<&str>) -> DeleteParams {
    DeleteParams::default().preconditions(Preconditions {
        uid: uid.map(str::to_owned),
        resource_version: resource_version.map(str::to_owned),
    })
}

#[cfg(test)]
#[path = "api_calls_tests.rs"]
mod tests;

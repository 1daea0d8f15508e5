//! Calls of the API, and their outcomes.

use kube::api::PatchParams;
use kube::core::Status;

use crate::claims;
use crate::controller::read::{item, patience};

/// The field manager of every write.
pub const FIELD_MANAGER: &str = claims::Manager::OURS;

/// The maximum length of a message of the API server that is kept, in characters.
const MAX_MESSAGE: usize = 512;

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ApiOutcome<T> {
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
    pub(crate) const fn as_str(&self) -> &'static str {
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
    pub(crate) const fn reason(&self) -> &'static str {
        match self {
            Self::NotFound => "NotFound",
            _ => "Conflict",
        }
    }

    /// Converts the reply, and keeps every other outcome.
    pub(crate) fn and_then<U>(self, read: impl FnOnce(T) -> ApiOutcome<U>) -> ApiOutcome<U> {
        match self {
            Self::Done(reply) => read(reply),
            Self::Conflict => ApiOutcome::Conflict,
            Self::NotFound => ApiOutcome::NotFound,
            Self::Denied { cause, message, stored } => ApiOutcome::Denied { cause, message, stored },
            Self::Unsure { why, retry_after } => ApiOutcome::Unsure { why, retry_after },
        }
    }
}

/// The answer to a write.
#[derive(Debug, PartialEq)]
pub(crate) struct Written<T> {
    pub(crate) outcome: ApiOutcome<T>,
    /// The message of a failure.
    pub(crate) message: String,
}

impl<T> Written<T> {
    pub(crate) fn and_then<U>(self, read: impl FnOnce(T) -> ApiOutcome<U>) -> Written<U> {
        Written {
            outcome: self.outcome.and_then(read),
            message: self.message,
        }
    }
}

impl<T> From<ApiOutcome<T>> for Written<T> {
    fn from(outcome: ApiOutcome<T>) -> Self {
        Self {
            outcome,
            message: String::new(),
        }
    }
}

/// Waits for a call with a timeout.
pub(crate) async fn call<T>(call: impl Future<Output = kube::Result<T>>) -> ApiOutcome<T> {
    write(call).await.outcome
}

/// Waits for a write with a timeout.
pub(crate) async fn write<T>(call: impl Future<Output = kube::Result<T>>) -> Written<T> {
    classified(patience::answered(call).await)
}

/// The outcome of a read of several calls, each with its timeout.
pub(crate) fn outcome<T>(result: kube::Result<T>) -> ApiOutcome<T> {
    classified(result).outcome
}

/// The outcome, with the message of a failure.
fn classified<T>(result: kube::Result<T>) -> Written<T> {
    let outcome = match result {
        Ok(reply) => ApiOutcome::Done(reply),
        Err(kube::Error::Api(status)) => {
            let message = format!("{} {}", status.code, shorten(&status.message));
            return Written {
                outcome: outcome_of(*status),
                message,
            };
        }
        Err(error) => ApiOutcome::Unsure {
            why: text(&error),
            retry_after: None,
        },
    };
    outcome.into()
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
pub(crate) fn outcome_of<T>(status: Status) -> ApiOutcome<T> {
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
pub(crate) fn shorten(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    line.chars().take(MAX_MESSAGE).collect()
}

/// The parameters of a merge patch.
pub(crate) fn merge() -> PatchParams {
    PatchParams {
        field_manager: Some(FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    }
}

#[cfg(test)]
#[path = "api_calls_tests.rs"]
mod tests;

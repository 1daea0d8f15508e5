//! What a call of the Kubernetes API names, and what comes of it.

/// A version of a StatefulSet, which a write names: the write fails if the object has changed since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetVersion {
    /// `metadata.uid`
    pub uid: String,
    /// `metadata.resourceVersion`
    pub resource_version: String,
}

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq)]
pub enum ApiOutcome<T> {
    /// The call succeeded, with this reply.
    Done(T),
    /// The object has changed since it was read. The code and the message.
    Conflict(String),
    /// The object does not exist, or another one has its name. The code and the message.
    NotFound(String),
    /// The API server, or a webhook, denied the call.
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
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Done(_) => "done",
            Self::Conflict(_) => "conflict",
            Self::NotFound(_) => "not_found",
            Self::Denied { .. } => "refused",
            Self::Unsure { .. } => "unsure",
        }
    }

    /// True iff the object has changed since it was read, or exists already.
    #[must_use]
    pub const fn is_conflict(&self) -> bool {
        matches!(self, Self::Conflict(_))
    }

    /// Why it did not succeed: a message, or the outcome in a word.
    #[must_use]
    pub fn why(self) -> String {
        match self {
            Self::Denied { message: why, .. } | Self::Unsure { why, .. } => why,
            other => other.as_str().to_owned(),
        }
    }

    /// A call that is denied for this cause, with this message.
    #[must_use]
    pub fn denied(cause: &str, message: String) -> Self {
        Self::Denied {
            cause: cause.to_owned(),
            message,
            stored: None,
        }
    }

    /// It is unknown for this cause whether the call succeeded.
    #[must_use]
    pub fn unsure(why: impl Into<String>) -> Self {
        Self::Unsure {
            why: why.into(),
            retry_after: None,
        }
    }

    /// Converts the reply, and keeps every other outcome.
    pub fn and_then<U>(self, read: impl FnOnce(T) -> ApiOutcome<U>) -> ApiOutcome<U> {
        match self {
            Self::Done(reply) => read(reply),
            Self::Conflict(message) => ApiOutcome::Conflict(message),
            Self::NotFound(message) => ApiOutcome::NotFound(message),
            Self::Denied { cause, message, stored } => ApiOutcome::Denied { cause, message, stored },
            Self::Unsure { why, retry_after } => ApiOutcome::Unsure { why, retry_after },
        }
    }
}

//! What the decision says.

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing: it goes on as it came, byte for byte.
    Pass,
    /// It goes on with these edits and nothing else changed.
    Divert(Divert),
    /// It is denied.
    Refuse(Refusal),
}

/// Edits of the request's object, and what is said about them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Divert {
    /// What changes in the object. Never empty.
    pub edits: Vec<Edit>,
    /// Lines for the user, each at most 256 characters.
    pub warnings: Vec<String>,
    /// Entries for the audit log, `(key, value)`.
    pub audit: Vec<(&'static str, String)>,
}

/// One edit of the request's object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edit {
    /// `spec.volumeClaimTemplates` becomes what the old object has, byte for byte.
    RestoreTemplates,
    /// An annotation gets this value.
    SetAnnotation(&'static str, String),
    /// An annotation goes.
    RemoveAnnotation(&'static str),
}

/// Why a request is denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The HTTP status: 400 for what cannot be understood, 403 for who may not, 422 for what may not be.
    pub code: u16,
    /// One line: which field, what was expected, what was found, what to do.
    pub message: String,
}

impl Refusal {
    /// The request cannot be understood.
    #[must_use]
    pub fn malformed(message: impl Into<String>) -> Self {
        Self {
            code: 400,
            message: message.into(),
        }
    }

    /// The requester may not do this.
    #[must_use]
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self {
            code: 403,
            message: message.into(),
        }
    }

    /// What is asked for may not be.
    #[must_use]
    pub fn invalid(message: impl Into<String>) -> Self {
        Self {
            code: 422,
            message: message.into(),
        }
    }
}

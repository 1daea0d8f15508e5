//! What the decision says.

use std::borrow::Cow;

use crate::templates::Quantity;

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It goes on as it came, byte for byte.
    Pass(Remarks),
    /// It goes on with these edits, never none, and nothing else changed.
    Stage(Vec<Edit>, Remarks),
    /// It is denied.
    Deny(Denial),
}

/// What is said about a request that goes on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remarks {
    /// Lines for the user, each at most 256 characters and all together at most 4096: the API server shows no more.
    pub warnings: Vec<String>,
    /// Entries for the audit log, `(key, value)`.
    pub audit: Vec<(&'static str, String)>,
}

/// One edit of the request's object. Whatever no edit names stays as it came.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    /// `spec.volumeClaimTemplates` becomes what the old object has, byte for byte.
    RestoreTemplates,
    /// `spec.volumeClaimTemplates` becomes this JSON text.
    SetTemplates(String),
    /// An annotation gets this value.
    SetAnnotation(Cow<'static, str>, String),
    /// An annotation goes.
    RemoveAnnotation(Cow<'static, str>),
    /// A label of a claim gets this value.
    SetLabel(Cow<'static, str>, String),
    /// A label of a claim goes.
    RemoveLabel(Cow<'static, str>),
    /// `spec.resources.requests.storage` of a claim.
    SetStorage(Quantity),
    /// `spec.volumeAttributesClassName` of a claim.
    SetAttributesClass(String),
}

/// Why a request is denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// The HTTP status: 400 for what cannot be understood, else 403. On 409 and 422 `kubectl apply --force`, Flux, Argo CD
    /// and kapp delete the StatefulSet.
    pub code: u16,
    /// One line: which field, what was expected, what was found, what to do.
    pub message: String,
}

impl Verdict {
    /// Nothing to change and nothing to say.
    pub const PASS: Self = Self::Pass(Remarks {
        warnings: Vec::new(),
        audit: Vec::new(),
    });

    /// The request with these edits; without any it passes.
    #[must_use]
    pub fn with(edits: Vec<Edit>, remarks: Remarks) -> Self {
        if edits.is_empty() {
            Self::Pass(remarks)
        } else {
            Self::Stage(edits, remarks)
        }
    }

    /// The same verdict with more to say; a refusal says enough.
    #[must_use]
    pub fn warning(mut self, warnings: Vec<String>) -> Self {
        if let Self::Pass(remarks) | Self::Stage(_, remarks) = &mut self {
            remarks.warnings.extend(warnings);
        }
        self
    }
}

impl Edit {
    /// An annotation with a value that it has to have.
    #[must_use]
    pub fn annotation(key: &'static str, value: String) -> Self {
        Self::SetAnnotation(Cow::Borrowed(key), value)
    }

    /// An annotation that has to go.
    #[must_use]
    pub const fn no_annotation(key: &'static str) -> Self {
        Self::RemoveAnnotation(Cow::Borrowed(key))
    }
}

impl Denial {
    /// The request cannot be understood.
    #[must_use]
    pub fn malformed(message: impl Into<String>) -> Self {
        Self {
            code: 400,
            message: message.into(),
        }
    }

    /// What is asked for may not be, or not by this requester.
    #[must_use]
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self {
            code: 403,
            message: message.into(),
        }
    }
}

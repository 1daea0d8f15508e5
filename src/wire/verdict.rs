//! The verdict on a request.

use std::borrow::Cow;

use crate::json::Value;
use crate::templates::Quantity;

/// The verdict on a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The request is accepted unchanged, byte for byte.
    Pass(Remarks),
    /// The request is accepted with these edits (at least one) and no other change.
    Stage(Vec<Edit>, Remarks),
    /// The request is denied.
    Deny(Denial),
}

/// Warnings and audit entries for an accepted request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remarks {
    /// Lines for the user. The API server shows at most 256 characters of each, and at most 4096 characters in total.
    pub warnings: Vec<String>,
    /// Entries for the audit log, `(key, value)`.
    pub audit: Vec<(&'static str, String)>,
}

/// One edit of the object in the request. All other bytes stay as they are.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    /// `spec.volumeClaimTemplates` becomes that of the old object, byte for byte.
    RestoreTemplates,
    /// `spec.volumeClaimTemplates` becomes this JSON text.
    SetTemplates(String),
    /// `metadata.finalizers` becomes this JSON text.
    SetFinalizers(String),
    /// `spec.updateStrategy.rollingUpdate.partition` is removed.
    RemovePartition,
    /// An annotation gets this value.
    SetAnnotation(Cow<'static, str>, String),
    /// An annotation is removed.
    RemoveAnnotation(Cow<'static, str>),
    /// A label of a claim gets this value.
    SetLabel(Cow<'static, str>, String),
    /// A label of a claim is removed.
    RemoveLabel(Cow<'static, str>),
    /// `spec.resources.requests.storage` of a claim.
    SetStorage(Quantity),
    /// `spec.volumeAttributesClassName` of a claim.
    SetAttributesClass(String),
    /// A field of `spec` of a claim gets this value, or none.
    SetField(&'static str, Option<Value>),
}

/// Why a request is denied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// The HTTP status: 400 for malformed input, else 403. On 409 and 422, `kubectl apply --force`, Flux, Argo CD and
    /// kapp delete the StatefulSet.
    pub code: u16,
    /// One line: the field, the cause, and what to do.
    pub message: String,
}

impl Verdict {
    /// No edit, no warning.
    pub const PASS: Self = Self::Pass(Remarks {
        warnings: Vec::new(),
        audit: Vec::new(),
    });

    /// Stage with these edits, or Pass if there are none.
    #[must_use]
    pub fn with(edits: Vec<Edit>, remarks: Remarks) -> Self {
        if edits.is_empty() {
            Self::Pass(remarks)
        } else {
            Self::Stage(edits, remarks)
        }
    }

    /// The verdict with more edits; a denial has none.
    #[must_use]
    pub fn with_edits(self, mut more: Vec<Edit>) -> Self {
        match self {
            Self::Pass(remarks) => Self::with(more, remarks),
            Self::Stage(mut edits, remarks) => {
                edits.append(&mut more);
                Self::Stage(edits, remarks)
            }
            Self::Deny(_) => self,
        }
    }

    /// The verdict with more warnings; a denial has none.
    #[must_use]
    pub fn warning(mut self, warnings: Vec<String>) -> Self {
        if let Self::Pass(remarks) | Self::Stage(_, remarks) = &mut self {
            remarks.warnings.extend(warnings);
        }
        self
    }
}

impl Edit {
    /// Sets an annotation.
    #[must_use]
    pub fn annotation(key: &'static str, value: String) -> Self {
        Self::SetAnnotation(Cow::Borrowed(key), value)
    }

    /// Removes an annotation.
    #[must_use]
    pub const fn no_annotation(key: &'static str) -> Self {
        Self::RemoveAnnotation(Cow::Borrowed(key))
    }
}

impl Denial {
    /// A denial of malformed input, with code 400.
    #[must_use]
    pub fn malformed(message: impl Into<String>) -> Self {
        Self {
            code: 400,
            message: message.into(),
        }
    }

    /// A denial of a change that is not allowed, or not for this requester, with code 403.
    #[must_use]
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self {
            code: 403,
            message: message.into(),
        }
    }
}

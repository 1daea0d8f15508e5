//! One finding, as data and as text: the shape of `doctor -o json`, which stays as it is.

use std::fmt;

use serde::Serialize;

use crate::templates::show::printable;

/// Something that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    pub(crate) severity: Severity,
    /// The object that it is about, as kubectl names it.
    pub(crate) subject: String,
    pub(crate) expected: String,
    pub(crate) found: String,
    /// The command or the edit that heals it.
    #[serde(rename = "heal")] // words: allowed: a field of `doctor -o json`
    pub(crate) fix: String,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum Severity {
    /// Something does not work, or lets through what it should not.
    Error,
    /// Something may come to that, or could not be looked at.
    Warning,
}

impl Finding {
    /// An error; what heals it is to be added.
    pub(super) fn error(subject: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            subject: subject.into(),
            expected: String::new(),
            found: String::new(),
            fix: String::new(),
        }
    }

    /// A warning; the same.
    pub(super) fn warning(subject: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(subject)
        }
    }

    /// What was expected, and what was found instead.
    pub(super) fn but(self, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self {
            expected: expected.into(),
            found: found.into(),
            ..self
        }
    }

    /// What heals it.
    pub(super) fn fix(self, fix: impl Into<String>) -> Self {
        let fix = fix.into();
        Self { fix, ..self }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let [subject, expected, found, fix] =
            [&self.subject, &self.expected, &self.found, &self.fix].map(|text| printable(text));
        writeln!(f, "{severity}: {subject}: expected {expected}, but found {found}")?;
        writeln!(f, "  to heal it: {fix}")
    }
}

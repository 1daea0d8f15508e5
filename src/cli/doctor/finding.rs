//! One finding as data and as text. The fields are the stable format of `doctor -o json`.

use std::fmt;

use serde::Serialize;

use crate::templates::show::printable;

/// A fault of an installation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding {
    pub(crate) severity: Severity,
    /// The object with the fault, as kubectl names it.
    pub(crate) subject: String,
    pub(crate) expected: String,
    pub(crate) found: String,
    /// The command or the edit that fixes the fault.
    pub(crate) fix: String,
}

/// The severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum Severity {
    /// Something does not work, or allows what it should deny.
    Error,
    /// Something may fail later, or could not be checked.
    Warning,
}

impl Finding {
    /// An error, without its fix.
    pub(super) fn error(subject: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            subject: subject.into(),
            expected: String::new(),
            found: String::new(),
            fix: String::new(),
        }
    }

    /// A warning, without its fix.
    pub(super) fn warning(subject: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(subject)
        }
    }

    /// Adds the expected and the found state.
    pub(super) fn but(self, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self {
            expected: expected.into(),
            found: found.into(),
            ..self
        }
    }

    /// Adds the fix.
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
        writeln!(f, "  to fix it: {fix}")
    }
}

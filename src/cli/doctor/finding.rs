//! One finding as data and as text. The fields are the stable format of `doctor -o json`.

use std::fmt;

use serde::Serialize;

use crate::templates::show::printable;

/// A fault of an installation. Its fix is a value first, and a text for the installation at the end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Finding<F = Fix> {
    pub(crate) severity: Severity,
    /// The object with the fault, as kubectl names it.
    pub(crate) subject: String,
    pub(crate) expected: String,
    pub(crate) found: String,
    /// The command or the edit that fixes the fault.
    pub(crate) fix: F,
}

/// How to fix a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fix {
    /// A command or an edit, the same for every installation.
    Do(String),
    /// To restore a part of the installation.
    Restore(Restore),
}

/// The command that applies a manifest of this version: who runs the doctor need not have the files.
pub(super) fn apply(manifest: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let place = if manifest.ends_with(".yaml") {
        format!("-f https://raw.githubusercontent.com/claim-rollout/claim-rollout/v{version}/{manifest}")
    } else {
        format!("-k 'https://github.com/claim-rollout/claim-rollout/{manifest}?ref=v{version}'")
    };
    format!("kubectl apply --server-side --force-conflicts {place}")
}

/// A part of the installation to restore: as it was installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Restore {
    /// The file or the folder with the manifests of the part.
    pub(crate) manifest: &'static str,
    /// Another command than to apply the manifest.
    pub(crate) command: Option<String>,
    /// What follows the command, such as a second step.
    pub(crate) then: String,
}

impl Restore {
    /// The part in this file or folder.
    pub(crate) const fn of(manifest: &'static str) -> Self {
        Self {
            manifest,
            command: None,
            then: String::new(),
        }
    }

    /// With another command than to apply the manifest, where no release of Helm contains it.
    pub(crate) fn by(self, command: impl Into<String>) -> Self {
        let command = Some(command.into());
        Self { command, ..self }
    }

    /// Followed by this text.
    pub(crate) fn then(self, then: impl Into<String>) -> Self {
        let then = then.into();
        Self { then, ..self }
    }

    /// The command for an installation by manifests.
    pub(crate) fn by_hand(&self) -> String {
        let apply = || apply(self.manifest);
        self.command.clone().unwrap_or_else(apply) + &self.then
    }
}

impl From<String> for Fix {
    fn from(text: String) -> Self {
        Self::Do(text)
    }
}

impl From<&str> for Fix {
    fn from(text: &str) -> Self {
        Self::Do(text.to_owned())
    }
}

impl From<Restore> for Fix {
    fn from(restore: Restore) -> Self {
        Self::Restore(restore)
    }
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
            fix: Fix::Do(String::new()),
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
    pub(super) fn fix(self, fix: impl Into<Fix>) -> Self {
        let fix = fix.into();
        Self { fix, ..self }
    }

    /// The finding with its fix as a text.
    pub(super) fn rendered(self, render: impl FnOnce(Fix) -> String) -> Finding<String> {
        let Self {
            severity,
            subject,
            expected,
            found,
            fix,
        } = self;
        Finding {
            severity,
            subject,
            expected,
            found,
            fix: render(fix),
        }
    }
}

impl fmt::Display for Finding<String> {
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

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
pub(crate) struct Fix {
    /// The file or the folder with the manifests of the part to restore, which is as it was installed; none if the fix is
    /// the same for every installation.
    pub(crate) manifest: Option<&'static str>,
    /// The command or the edit where no release of Helm contains the part.
    pub(crate) command: String,
    /// What follows, such as a second step.
    pub(crate) then: String,
}

/// The manifest for OpenKruise's StatefulSets: rights, and a part of the guard.
pub(super) const OPENKRUISE: &str = "deploy/openkruise.yaml";

/// Values of the chart that install a manifest which is not installed by default.
const VALUES: [(&str, &str); 5] = [
    ("deploy/guard", "guard.enabled"),
    (OPENKRUISE, "features.openkruise"),
    ("deploy/evict-pods.yaml", "features.restart"),
    ("deploy/recreate.yaml", "features.reCreate"),
    ("deploy/replace-sets.yaml", "features.replaceSets"),
];

/// The value of the chart that installs this manifest, if it is not installed by default.
pub(super) fn chart_value(manifest: &str) -> Option<&'static str> {
    let mut values = VALUES.into_iter().filter(|(prefix, _)| manifest.starts_with(prefix));
    values.next().map(|(_, value)| value)
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

impl Fix {
    /// Restores the part in this file or folder.
    pub(crate) fn restore(manifest: &'static str) -> Self {
        Self {
            manifest: Some(manifest),
            ..Self::from(apply(manifest))
        }
    }

    /// With another command than to apply the manifest, where no release of Helm contains it.
    pub(crate) fn by(self, command: impl Into<String>) -> Self {
        let command = command.into();
        Self { command, ..self }
    }

    /// Followed by this text.
    pub(crate) fn then(self, then: impl Into<String>) -> Self {
        let then = then.into();
        Self { then, ..self }
    }
}

/// A command or an edit, the same for every installation.
impl<T: Into<String>> From<T> for Fix {
    fn from(command: T) -> Self {
        Self {
            manifest: None,
            command: command.into(),
            then: String::new(),
        }
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

/// A StatefulSet, as kubectl names it.
pub(super) fn set(namespace: &str, name: &str) -> String {
    format!("statefulset.apps/{namespace}/{name}")
}

impl Finding {
    /// An error, without its fix.
    pub(super) fn error(subject: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            subject: subject.into(),
            expected: String::new(),
            found: String::new(),
            fix: Fix::from(""),
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
        Finding {
            severity: self.severity,
            subject: self.subject,
            expected: self.expected,
            found: self.found,
            fix: render(self.fix),
        }
    }
}

impl fmt::Display for Finding<String> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let severity = format!("{:?}", self.severity).to_lowercase();
        let [subject, expected, found, fix] =
            [&self.subject, &self.expected, &self.found, &self.fix].map(|text| printable(text));
        writeln!(f, "{severity}: {subject}: expected {expected}, but found {found}")?;
        writeln!(f, "  to fix it: {fix}")
    }
}

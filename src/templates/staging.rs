//! The identity of a staging, and the label that PVCs get from it.

use std::fmt;

use super::keys;
use super::revision::{Revision, hash};
use crate::json::Map;

/// The number of characters. 27⁵ is about 14 million stagings of one revision.
const LENGTH: usize = 5;

/// One staging of a revision: five characters.
///
/// Equal templates have equal revisions. But what was withdrawn and is staged again is another staging, so that a PVC
/// that was changed in between is updated again.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Staging(String);

/// The value of the label [`keys::REVISION`] on PVCs, in the form `<revision>.<staging>`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RevisionLabel {
    /// The revision of the templates.
    pub revision: Revision,
    /// The staging of this revision.
    pub staging: Staging,
}

impl Staging {
    /// The staging of a revision on the StatefulSet with this uid, which has this `resourceVersion` before the request.
    #[must_use]
    pub fn of(uid: &str, resource_version: &str, revision: &Revision) -> Self {
        let parts = [uid, resource_version, revision.as_str()].map(str::to_owned);
        Self(hash(&parts, LENGTH))
    }

    /// Reads a staging; `None` if the text is not five letters and digits.
    #[must_use]
    pub fn read(text: impl Into<String>) -> Option<Self> {
        let text = text.into();
        let is_one = text.len() == LENGTH && text.bytes().all(|one| one.is_ascii_alphanumeric());
        is_one.then_some(Self(text))
    }

    /// The staging as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl RevisionLabel {
    /// Reads the value of the label; `None` if it does not have the form.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let (revision, staging) = text.split_once('.')?;
        Some(Self {
            revision: Revision::from_text(revision),
            staging: Staging::read(staging)?,
        })
    }

    /// The value as text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = self.revision.as_str().to_owned();
        text.push('.');
        text.push_str(self.staging.as_str());
        text
    }

    /// True iff the text is this value.
    #[must_use]
    pub fn is(&self, text: &str) -> bool {
        *text == self.text()
    }

    /// True iff these labels of a PVC contain the label with this value.
    #[inline(never)]
    #[must_use]
    pub fn is_on(&self, labels: &Map<String>) -> bool {
        labels.get(keys::REVISION) == Some(&self.text())
    }
}

impl fmt::Display for Staging {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for RevisionLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::{Revision, RevisionLabel, Staging};

    #[test]
    fn staging_differs_with_each_of_its_parts() {
        let of = |uid, version, revision| Staging::of(uid, version, &Revision::from_text(revision));
        let staging = of("uid", "7", "bcdfghjklm");
        assert_eq!(staging, of("uid", "7", "bcdfghjklm"), "it is deterministic");
        for other in [
            of("uid2", "7", "bcdfghjklm"),
            of("uid", "8", "bcdfghjklm"),
            of("uid", "7", "bcdfghjkln"),
            of("uid7", "", "bcdfghjklm"),
        ] {
            assert_ne!(staging, other);
        }
        assert_eq!(Staging::read(staging.as_str()), Some(staging));
    }

    #[test]
    fn label_written_and_read_is_equal() {
        for (text, is_one) in [
            ("bcdfghjklm.xz245", true),
            ("bcdfghjklm", false),
            ("bcdfghjklm.xz24", false),
            ("bcdfghjklm.xz2456", false),
            ("bcdfghjklm.xz24-", false),
            ("", false),
        ] {
            let read = RevisionLabel::read(text);
            assert_eq!(
                read.as_ref().map(ToString::to_string),
                is_one.then(|| text.to_owned()),
                "{text}"
            );
            assert!(read.is_none_or(|label| label.is(text)), "{text}");
        }
    }

    #[test]
    fn label_of_another_staging_is_another_label() {
        let label = RevisionLabel::read("bcdfghjklm.xz245").expect("a label");
        for (text, expected) in [
            ("bcdfghjklm.xz245", true),
            ("bcdfghjklm.xz246", false),
            ("bcdfghjkln.xz245", false),
            ("bcdfghjklm", false),
            ("bcdfghjklm.xz245.x", false),
        ] {
            assert_eq!(label.is(text), expected, "{text}");
        }
    }
}

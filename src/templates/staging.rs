//! The identity of a staging, and the label that PVCs get from it.

use std::fmt;

use sha2::{Digest, Sha256};

use super::keys;
use super::revision::{ALPHABET, Revision, text_of};
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
        let mut hasher = Sha256::new();
        for part in [uid, resource_version, revision.as_str()] {
            hasher.update(part);
            // A separator: none of the parts contains this byte.
            hasher.update([0]);
        }
        Self(text_of(hasher, LENGTH))
    }

    /// Reads a staging; `None` if the text is not five characters of the alphabet of revisions.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let is_one = text.len() == LENGTH && text.bytes().all(|one| ALPHABET.contains(&one));
        is_one.then(|| Self(text.to_owned()))
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

    /// True iff the text is this value.
    #[must_use]
    pub fn is(&self, text: &str) -> bool {
        text.split_once('.') == Some((self.revision.as_str(), self.staging.as_str()))
    }

    /// True iff these labels of a PVC contain the label with this value.
    #[must_use]
    pub fn is_on(&self, labels: &Map<String>) -> bool {
        labels.get(keys::REVISION).is_some_and(|text| self.is(text))
    }
}

impl fmt::Display for Staging {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for RevisionLabel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.revision, self.staging)
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
            ("bcdfghjklm.xz24a", false),
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

//! Names of PVCs: `<template>-<set>-<ordinal>`, as the StatefulSet controller creates them.

use std::fmt;

/// The longest name of a PVC in Kubernetes (a DNS subdomain).
pub const MAX_NAME: usize = 253;

/// The valid name of a PVC of a StatefulSet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClaimName(String);

/// Why template, StatefulSet and ordinal do not form a valid PVC name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The name of the template is not a sequence of DNS labels.
    #[error(
        "expected a template name of lower case letters, digits, '-' and '.', beginning and ending with a letter or digit"
    )]
    Malformed,
    /// The joined name is too long.
    #[error("expected a PVC name of at most 253 characters, but found {length}")]
    TooLong {
        /// The length of the joined name.
        length: usize,
    },
}

impl ClaimName {
    /// The name of the PVC of `template` for replica `ordinal` of StatefulSet `set`.
    ///
    /// # Errors
    /// [`NameError`] if the API server would deny the name.
    pub fn new(template: &str, set: &str, ordinal: u32) -> Result<Self, NameError> {
        let name = format!("{template}-{set}-{ordinal}");
        if name.len() > MAX_NAME {
            return Err(NameError::TooLong { length: name.len() });
        }
        if !name.split('.').all(is_dns_label) {
            return Err(NameError::Malformed);
        }
        Ok(Self(name))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// True iff a StatefulSet `set` with a template `template` would give this name to one of its PVCs as well.
    ///
    /// Names can collide: template `data` of `web-1` and template `data-web` of `1` both give `data-web-1-0` at ordinal
    /// 0.
    #[must_use]
    pub fn is_also_of(&self, template: &str, set: &str) -> bool {
        ordinal_of(&self.0, template, set).is_some()
    }
}

/// The ordinal in the name of a PVC, if it is a PVC of `template` in `set`.
///
/// Only the form that the StatefulSet controller writes counts: no sign, no leading zero.
#[must_use]
pub fn ordinal_of(name: &str, template: &str, set: &str) -> Option<u32> {
    let digits = name
        .strip_prefix(template)?
        .strip_prefix('-')?
        .strip_prefix(set)?
        .strip_prefix('-')?;
    ordinal(digits)
}

/// Every pair of template and StatefulSet that gives this name to a PVC: one for each dash.
pub fn givers_of(name: &str) -> impl Iterator<Item = (&str, &str)> {
    stem_and_ordinal(name).into_iter().flat_map(|(stem, _)| {
        let cuts = stem.match_indices('-');
        cuts.map(|(at, _)| (&stem[..at], &stem[at + 1..]))
    })
}

/// Splits the name of a PVC before its ordinal, if it ends with one.
#[must_use]
pub fn stem_and_ordinal(name: &str) -> Option<(&str, u32)> {
    let (stem, digits) = name.rsplit_once('-')?;
    Some((stem, ordinal(digits)?))
}

fn ordinal(digits: &str) -> Option<u32> {
    let written = digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    if written { digits.parse().ok() } else { None }
}

/// True iff the text is an RFC 1123 label, of any length: lower case letters, digits, and '-' between them.
fn is_dns_label(label: &str) -> bool {
    let bytes = label.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return false;
    };
    let alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    alphanumeric(first) && alphanumeric(last) && bytes.iter().all(|byte| alphanumeric(byte) || *byte == b'-')
}

impl fmt::Display for ClaimName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::{ClaimName, NameError, givers_of, ordinal_of};

    #[test]
    fn claim_name_has_template_set_and_ordinal() {
        assert_eq!(ClaimName::new("data", "web", 2).expect("valid").as_str(), "data-web-2");
    }

    #[test]
    fn claim_name_not_valid_is_an_error() {
        for template in ["", "-a", "a.", "A", "a_b", "a b", "é", "a\n", ".a"] {
            assert_eq!(
                ClaimName::new(template, "web", 0),
                Err(NameError::Malformed),
                "{template:?}"
            );
        }
        let long = "a".repeat(250);
        assert_eq!(ClaimName::new(&long, "web", 0), Err(NameError::TooLong { length: 256 }));
        assert!(ClaimName::new("a.b", "web", 0).is_ok());
    }

    #[test]
    fn ordinal_is_read_only_as_the_controller_writes_it() {
        assert_eq!(ordinal_of("data-web-12", "data", "web"), Some(12));
        for name in [
            "data-web-",
            "data-web-01",
            "data-web-+1",
            "data-web-1-0",
            "data-web-99999999999",
            "data-web1",
            "log-web-1",
        ] {
            assert_eq!(ordinal_of(name, "data", "web"), None, "{name}");
        }
    }

    #[test]
    fn claim_name_has_one_giver_for_each_dash() {
        let rows: [(&str, &[(&str, &str)]); 5] = [
            ("data-web-0", &[("data", "web")]),
            ("a-b-c-12", &[("a", "b-c"), ("a-b", "c")]),
            ("web-0", &[]),
            ("data-web", &[]),
            ("data-web-01", &[]),
        ];
        for (name, expected) in rows {
            assert_eq!(givers_of(name).collect::<Vec<_>>(), expected, "{name}");
        }
    }

    #[test]
    fn claim_name_of_two_sets_is_ambiguous() {
        let name = ClaimName::new("data", "web-1", 0).expect("valid");
        assert!(name.is_also_of("data-web", "1"));
        assert!(!name.is_also_of("data", "web"));
    }
}

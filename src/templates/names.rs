//! Names of claims: `<template>-<set>-<ordinal>`, as the StatefulSet controller makes them.

use std::fmt;

/// The longest name that Kubernetes accepts for a claim (a DNS subdomain).
pub const MAX_NAME: usize = 253;

/// The name of one claim of a set, known to be a valid name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClaimName(String);

/// Why template, set and ordinal form no valid claim name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The template's name is not made of DNS labels.
    #[error(
        "expected a template name of lower case letters, digits, '-' and '.', beginning and ending with a letter or digit"
    )]
    Malformed,
    /// The joined name is too long.
    #[error("expected a claim name of at most 253 characters, but found {length}")]
    TooLong {
        /// The length of the joined name.
        length: usize,
    },
}

impl ClaimName {
    /// The claim of `template` for the replica `ordinal` of `set`.
    ///
    /// # Errors
    /// [`NameError`] if the API server would not accept such a name.
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

    /// True iff a set `set` with a template `template` would also give this name to one of its claims.
    ///
    /// Two sets can collide: `data` of `web-1` at ordinal 0, and `data-web` of `1` at ordinal 0, are both `data-web-1-0`.
    #[must_use]
    pub fn is_also_of(&self, template: &str, set: &str) -> bool {
        ordinal_of(&self.0, template, set).is_some()
    }
}

/// The ordinal that a claim name has as a claim of `template` in `set`, if it is one.
///
/// Only the spelling that the StatefulSet controller writes counts: no sign, no leading zero.
#[must_use]
pub fn ordinal_of(name: &str, template: &str, set: &str) -> Option<u32> {
    let digits = name
        .strip_prefix(template)?
        .strip_prefix('-')?
        .strip_prefix(set)?
        .strip_prefix('-')?;
    ordinal(digits)
}

/// The templates and sets that could have given a claim this name: it may be cut at any dash.
pub fn givers_of(name: &str) -> impl Iterator<Item = (&str, &str)> {
    let stem = name.rsplit_once('-').filter(|(_, digits)| ordinal(digits).is_some());
    let cuts = stem
        .into_iter()
        .flat_map(|(stem, _)| stem.match_indices('-').map(move |(at, _)| (stem, at)));
    cuts.map(|(stem, at)| (&stem[..at], &stem[at + 1..]))
}

fn ordinal(digits: &str) -> Option<u32> {
    let written = digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    if written { digits.parse().ok() } else { None }
}

/// True iff the text is an RFC 1123 label without its limit of 63: lower case letters, digits, and '-' between them.
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
    fn a_claim_is_named_template_set_ordinal() {
        assert_eq!(ClaimName::new("data", "web", 2).expect("valid").as_str(), "data-web-2");
    }

    #[test]
    fn names_that_the_api_server_would_refuse_are_refused() {
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
    fn the_ordinal_is_read_back_only_from_the_spelling_of_the_controller() {
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
    fn a_name_is_given_by_any_set_before_whose_name_there_is_a_dash() {
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
    fn two_sets_can_give_the_same_name() {
        let name = ClaimName::new("data", "web-1", 0).expect("valid");
        assert!(name.is_also_of("data-web", "1"));
        assert!(!name.is_also_of("data", "web"));
    }
}

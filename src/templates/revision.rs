//! The revision of a wish: a short hash of its templates.

use std::fmt;

use sha2::{Digest, Sha256};

use super::template::ClaimTemplate;
use crate::json;

/// Ten characters that stand for a list of templates.
///
/// Equal wishes have equal revisions, whatever their order, the order of their keys or the spelling of their
/// quantities. It is a valid label value and part of a name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(String);

/// Kubernetes' own alphabet for generated names: no vowels, no characters that look alike, no words by chance.
const ALPHABET: [char; 27] = [
    'b', 'c', 'd', 'f', 'g', 'h', 'j', 'k', 'l', 'm', 'n', 'p', 'q', 'r', 's', 't', 'v', 'w', 'x', 'z', '2', '4', '5',
    '6', '7', '8', '9',
];

/// The number of characters: 27¹⁰ is about 2⁴⁷ wishes.
const LENGTH: usize = 10;

impl Revision {
    /// The revision of a list of templates.
    #[must_use]
    pub fn of(templates: &[ClaimTemplate]) -> Self {
        let identities: Vec<String> = templates
            .iter()
            .map(|template| json::canonical(&template.identity()))
            .collect();
        let mut sorted: Vec<&str> = identities.iter().map(String::as_str).collect();
        sorted.sort_unstable();
        let mut hasher = Sha256::new();
        for identity in sorted {
            hasher.update(identity);
            // No JSON text holds this byte unescaped, so no two lists run together.
            hasher.update([0]);
        }
        let hash = hasher.finalize();
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hash[..16]);
        let mut number = u128::from_be_bytes(bytes);
        let base = ALPHABET.len() as u128;
        let text = (0..LENGTH)
            .map(|_| {
                let digit = usize::try_from(number % base).unwrap_or(0);
                number /= base;
                ALPHABET[digit]
            })
            .collect();
        Self(text)
    }

    /// A revision read from a label, an annotation or a name, where it is only compared with others.
    #[must_use]
    pub fn from_text(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The revision as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

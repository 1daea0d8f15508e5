//! The revision of a list of templates: a short hash.

use std::fmt;

use sha2::{Digest, Sha256};

use super::template::ClaimTemplate;

/// A hash of ten characters of a list of templates.
///
/// Equal lists have equal revisions: the order of templates, the order of keys and the spelling of quantities do not
/// count. A revision is a valid label value and a valid part of a name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revision(String);

/// The alphabet that Kubernetes uses for generated names: no vowels, no similar characters, so no words by chance.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// The number of characters. 27¹⁰ is about 2⁴⁷ revisions.
const LENGTH: usize = 10;

impl Revision {
    /// The revision of a list of templates.
    #[must_use]
    pub fn of(templates: &[ClaimTemplate]) -> Self {
        let mut sorted: Vec<String> = Vec::with_capacity(templates.len());
        for template in templates {
            let identity = template.identity();
            let place = sorted.partition_point(|other| *other < identity);
            sorted.insert(place, identity);
        }
        Self(hash(&sorted, LENGTH))
    }

    /// A revision from a label, an annotation or a name. It is only compared.
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

/// The first characters of a hash of these texts, in the alphabet of generated names.
#[inline(never)]
pub(super) fn hash(parts: &[String], length: usize) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
        // A separator: no JSON text, uid, version or revision contains this byte.
        hasher.update([0]);
    }
    let hash = hasher.finalize();
    let mut number = [0; 4];
    for (word, bytes) in number.iter_mut().zip(hash.chunks_exact(4)) {
        *word = bytes.try_into().map_or(0, u32::from_be_bytes);
    }
    (0..length)
        .map(|_| char::from(ALPHABET[digit(&mut number) % ALPHABET.len()]))
        .collect()
}

/// Divides 128 bits, highest word first, by the size of the alphabet, and returns the remainder: the lowest digit.
fn digit(number: &mut [u32; 4]) -> usize {
    let base = ALPHABET.len() as u64;
    let mut rest = 0;
    for word in number {
        let dividend = (rest << 32) + u64::from(*word);
        *word = u32::try_from(dividend / base).unwrap_or(u32::MAX);
        rest = dividend % base;
    }
    usize::try_from(rest).unwrap_or(0)
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

//! Targets as short texts, and back: `3c1t2+4s1` is 3 Gi with class 1 and tier 2, and 4 Gi of StorageClass 1 in the
//! second template.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{ModelTarget, Want};
use crate::sim::names;
use crate::templates::ClaimTemplate;

/// `spec.volumeClaimTemplates` of a target, as JSON.
#[must_use]
pub fn templates(target: &ModelTarget) -> String {
    names::text(target)
}

/// The target of templates, without fields that the model does not have.
#[must_use]
pub fn target_of(templates: &[ClaimTemplate]) -> ModelTarget {
    names::target(templates)
}

impl fmt::Display for ModelTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, want) in self.wants().iter().enumerate() {
            let plus = if number == 0 { "" } else { "+" };
            write!(f, "{plus}{}", want.size)?;
            for (letter, value) in [('c', want.class), ('t', want.tier), ('s', want.storage_class)] {
                if value != 0 {
                    write!(f, "{letter}{value}")?;
                }
            }
        }
        Ok(())
    }
}

impl Serialize for ModelTarget {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ModelTarget {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let wants: Option<Vec<Want>> = text.split('+').map(read).collect();
        let wants = wants.ok_or_else(|| de::Error::custom(format!("expected a target, but found {text}")))?;
        Ok(Self::of(&wants))
    }
}

fn read(text: &str) -> Option<Want> {
    let (text, storage_class) = part(text, 's')?;
    let (text, tier) = part(text, 't')?;
    let (text, class) = part(text, 'c')?;
    let size = text.parse().ok()?;
    Some(Want {
        size,
        class,
        tier,
        storage_class,
    })
}

/// The text before a letter, and the number after it.
fn part(text: &str, letter: char) -> Option<(&str, u8)> {
    match text.split_once(letter) {
        Some((text, number)) => Some((text, number.parse().ok()?)),
        None => Some((text, 0)),
    }
}

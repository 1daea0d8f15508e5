//! The annotations that users set on a StatefulSet, with the values that each may have. The policy denies other values;
//! `doctor` finds those from before the policy was installed.

use super::keys::{self, MaxInMotion, ProgressDeadline, ReplaceSet, Restart, Sync, UpdatePolicy};

/// An annotation whose value the user chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UserKey {
    /// The key of the annotation.
    pub key: &'static str,
    /// The allowed values.
    pub values: Values,
}

/// The allowed values of an annotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A number from 1 to this, with its unit.
    UpTo(u32, &'static str),
    /// The name of an object of this kind.
    NameOf(&'static str),
}

/// Every user annotation except `withdraw`, which names a revision and which the policy removes.
pub const USER_KEYS: [UserKey; 8] = [
    UserKey::of(keys::UPDATE_POLICY, Values::OneOf(&UpdatePolicy::WORDS)),
    UserKey::of(keys::SYNC, Values::OneOf(&Sync::WORDS)),
    UserKey::of(keys::REPLACE_SET, Values::OneOf(&ReplaceSet::WORDS)),
    UserKey::of(keys::RESTART, Values::OneOf(&Restart::WORDS)),
    UserKey::of(keys::RECREATE_SNAPSHOT, Values::NameOf("VolumeSnapshotClass")),
    UserKey::of(keys::PAUSED, Values::OneOf(&["true", "false"])),
    UserKey::of(
        keys::PROGRESS_DEADLINE,
        Values::UpTo(ProgressDeadline::MOST, " seconds"),
    ),
    UserKey::of(keys::MAX_IN_MOTION, Values::UpTo(MaxInMotion::MOST, "")),
];

impl UserKey {
    const fn of(key: &'static str, values: Values) -> Self {
        Self { key, values }
    }
}

impl Values {
    /// True iff the value is allowed. `OnDelete` is OpenKruise's name of `OnClaimDelete`.
    #[must_use]
    pub fn allow(&self, text: &str) -> bool {
        match self {
            Self::OneOf(words) => {
                let word = if text == "OnDelete" { "OnClaimDelete" } else { text };
                words.contains(&word)
            }
            Self::NameOf(_) => is_name(text),
            Self::UpTo(most, _) => text.parse().is_ok_and(|number| (1..=*most).contains(&number)),
        }
    }

    /// The allowed values, for messages.
    #[must_use]
    pub fn in_words(&self) -> String {
        match self {
            Self::OneOf(words) => "one of ".to_owned() + &words.join(", "),
            Self::NameOf(kind) => format!("the name of a {kind}"),
            Self::UpTo(most, unit) => format!("1 to {most}{unit}"),
        }
    }
}

/// True iff the text can be the name of an object: a DNS subdomain.
fn is_name(text: &str) -> bool {
    let is_end = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit();
    let ends = [text.bytes().next(), text.bytes().last()];
    let mut bytes = text.bytes();
    text.len() <= 253
        && ends.into_iter().all(|end| end.is_some_and(is_end))
        && bytes.all(|c| is_end(c) || matches!(c, b'-' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::super::{MaxInMotion, ProgressDeadline, ReplaceSet, Restart, Sync, UpdatePolicy};
    use super::{USER_KEYS, Values, keys};

    /// True iff the controller reads this value of the annotation.
    fn is_read(key: &str, text: &str) -> bool {
        match key {
            keys::UPDATE_POLICY => text.parse::<UpdatePolicy>().is_ok(),
            keys::SYNC => text.parse::<Sync>().is_ok(),
            keys::REPLACE_SET => text.parse::<ReplaceSet>().is_ok(),
            keys::RESTART => text.parse::<Restart>().is_ok(),
            keys::PAUSED => matches!(text, "true" | "false"),
            keys::PROGRESS_DEADLINE => text.parse::<ProgressDeadline>().is_ok(),
            keys::MAX_IN_MOTION => text.parse::<MaxInMotion>().is_ok(),
            other => panic!("no parser for {other}"),
        }
    }

    #[test]
    fn value_is_allowed_iff_it_is_read() {
        let texts = [
            "OnClaimDelete",
            "OnDelete",
            "InPlace",
            "ReCreate",
            "inplace",
            "LockStep",
            "Async",
            "Never",
            "WhenComplete",
            "WhenNodeExpansionPends",
            "true",
            "false",
            "True",
            "",
            "0",
            "1",
            "10",
            "1000",
            "1001",
            "2592000",
            "2592001",
            "-1",
            "1.5",
            " 1",
            "4294967296",
        ];
        for user_key in USER_KEYS {
            if matches!(user_key.values, Values::NameOf(_)) {
                continue;
            }
            for text in texts {
                let (allowed, read) = (user_key.values.allow(text), is_read(user_key.key, text));
                assert_eq!(allowed, read, "{}: {text:?}", user_key.key);
            }
        }
    }

    #[test]
    fn name_of_an_object_is_a_dns_subdomain() {
        let values = Values::NameOf("VolumeSnapshotClass");
        for name in ["fast", "csi.fast-1", "0"] {
            assert!(values.allow(name), "{name}");
        }
        for text in ["", "Fast", "-a", "a-", ".a", "a_b", "a b", "\u{e4}", &"a".repeat(254)] {
            assert!(!values.allow(text), "{text}");
        }
    }

    #[test]
    fn values_in_words_are_the_allowed_ones() {
        let words = |key| {
            USER_KEYS
                .into_iter()
                .find(|known| known.key == key)
                .expect(key)
                .values
                .in_words()
        };
        assert_eq!(words(keys::SYNC), "one of LockStep, Async");
        assert_eq!(words(keys::PROGRESS_DEADLINE), "1 to 2592000 seconds");
        assert_eq!(words(keys::MAX_IN_MOTION), "1 to 1000");
        assert_eq!(words(keys::RECREATE_SNAPSHOT), "the name of a VolumeSnapshotClass");
    }
}

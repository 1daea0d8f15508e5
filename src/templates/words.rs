//! Enums whose values are words that people and other programs read and write.

use std::fmt;

/// A text is none of the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownWord(
    /// The known words.
    pub &'static [&'static str],
);

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected one of ")?;
        f.write_str(&self.0.join(", "))
    }
}

/// The place of a text among the words.
///
/// # Errors
/// [`UnknownWord`] if it is none of them.
pub(crate) fn place(text: &str, words: &'static [&'static str]) -> Result<usize, UnknownWord> {
    let place = words.iter().position(|word| *word == text);
    place.ok_or(UnknownWord(words))
}

/// Defines an enum with the word of each value, from one table: the list of all values and of all words, the parser and
/// its error, and the meaning of each value, which is its comment. As JSON, a value is its word.
///
/// The word of a value is its name, unless `= "word"` follows. `| "word"` is another word that is read, never written.
/// `enum Name = Value` has this default.
macro_rules! words {
    (
        $(#[doc = $about:literal])*
        pub enum $name:ident $(= $default:ident)? {
            $($(#[doc = $doc:literal])* $value:ident $(= $word:literal)? $(| $alias:literal)?,)*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[doc = $doc])* $value,)*
        }

        impl $name {
            /// Every value, in the order of messages and documents.
            pub const ALL: [Self; [$(Self::$value),*].len()] = [$(Self::$value),*];

            /// The word of each value.
            pub const WORDS: [&'static str; Self::ALL.len()] = [$($crate::templates::words::words!(@word $value $($word)?)),*];

            /// The word of the value.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                Self::WORDS[self as usize]
            }

            /// The value with this word.
            #[must_use]
            pub fn read(text: &str) -> Option<Self> {
                text.parse().ok()
            }

            /// What the value stands for.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                const MEANINGS: [&str; $name::ALL.len()] = [$(concat!($($doc),*).trim_ascii()),*];
                MEANINGS[self as usize]
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::templates::words::UnknownWord;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $($(if text == $alias {
                    return Ok(Self::$value);
                })?)*
                $crate::templates::words::place(text, &Self::WORDS).map(|place| Self::ALL[place])
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        $(impl Default for $name {
            fn default() -> Self {
                Self::$default
            }
        })?
    };
    (@word $value:ident) => {
        stringify!($value)
    };
    (@word $value:ident $word:literal) => {
        $word
    };
}

pub(crate) use words;

#[cfg(test)]
#[expect(unreachable_pub, reason = "the macro defines public enums")]
mod tests {
    use super::UnknownWord;

    words! {
        /// For the test.
        pub enum Colour = Green {
            /// Like
            /// blood.
            Red,
            /// Like grass.
            Green = "green",
            /// Like the sky.
            Blue | "Azure",
        }
    }

    #[test]
    fn word_written_and_read_is_the_same_value() {
        assert_eq!(Colour::WORDS, ["Red", "green", "Blue"]);
        for (colour, word) in Colour::ALL.into_iter().zip(Colour::WORDS) {
            assert_eq!((colour.as_str(), Colour::read(word)), (word, Some(colour)));
            assert_eq!(colour.to_string(), word);
            assert_eq!(serde_json::to_string(&colour).ok(), Some(format!("{word:?}")));
        }
        assert_eq!("Azure".parse(), Ok(Colour::Blue));
        assert_eq!(Colour::default(), Colour::Green);
        assert_eq!(
            Colour::ALL.map(Colour::meaning),
            ["Like blood.", "Like grass.", "Like the sky."]
        );
    }

    #[test]
    fn unknown_word_is_an_error_with_all_words() {
        for text in ["Green", "red", "", "Azure "] {
            assert_eq!(text.parse::<Colour>(), Err(UnknownWord(&Colour::WORDS)));
        }
        let error = UnknownWord(&Colour::WORDS).to_string();
        assert_eq!(error, "expected one of Red, green, Blue");
    }
}

//! Whole values, for the few that are kept: templates, records, settings.
//!
//! Not serde_json's: theirs comes with floats, a tree for every object and their printing, which made up a third of the
//! guest; and what prints the same is the same here, whichever features another crate of the build switches on.

use super::error::{Error, Fault};
use super::map::Map;
use super::read::Reader;

/// A JSON value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Value {
    /// `null`
    #[default]
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string.
    String(String),
    /// A list.
    Array(Vec<Value>),
    /// An object.
    Object(Map<Value>),
}

/// A number as canonical JSON prints it: numbers that print the same are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number(Box<str>);

/// Reads a text as one value.
///
/// # Errors
/// [`Error`]; among what serde_json would read, duplicate keys, numbers that are not whole and more than
/// [`MAX_VALUES`](super::MAX_VALUES) values are refused: the first mean different things to different readers, the second
/// lose digits, the third take memory, and nothing that is read here has any.
pub fn read(text: &str) -> Result<Value, Error> {
    let mut reader = Reader::new(text);
    let value = reader.value()?;
    reader.end()?;
    Ok(value)
}

impl Value {
    /// The string, if it is one.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The truth value, if it is one.
    #[must_use]
    pub const fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(truth) => Some(*truth),
            _ => None,
        }
    }

    /// The number, if it is one that fits.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Number(number) => number.0.parse().ok(),
            _ => None,
        }
    }

    /// The items, if it is a list.
    #[must_use]
    pub fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The members, if it is an object.
    #[must_use]
    pub const fn as_object(&self) -> Option<&Map<Self>> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }
}

impl Number {
    /// The number as it is printed.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A number that is known to be printed so.
    #[cfg(any(test, not(target_family = "wasm")))]
    pub(super) fn printed(text: String) -> Self {
        Self(text.into())
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Number(Number(number.to_string().into()))
    }
}

impl Reader<'_> {
    /// Takes whatever comes next, as a value.
    ///
    /// # Errors
    /// As [`read`].
    pub fn value(&mut self) -> Result<Value, Error> {
        self.keep()?;
        match self.peek() {
            b'{' => {
                let mut members = Map::new();
                self.object(|reader, key| {
                    let value = reader.value()?;
                    if members.push(key.into_owned(), value) {
                        Ok(())
                    } else {
                        Err(reader.error(Fault::Duplicate))
                    }
                })?;
                if members.sort() {
                    Ok(Value::Object(members))
                } else {
                    Err(self.error(Fault::Duplicate))
                }
            }
            b'[' => {
                let mut items = Vec::new();
                self.list(|reader| {
                    items.push(reader.value()?);
                    Ok(())
                })?;
                Ok(Value::Array(items))
            }
            b'"' => Ok(Value::String(self.string()?.into_owned())),
            b't' | b'f' => self.bool().map(Value::Bool),
            b'n' => self.skip().map(|()| Value::Null),
            b'-' | b'0'..=b'9' => self.number(),
            _ => Err(self.unexpected(Fault::Syntax)),
        }
    }

    fn number(&mut self) -> Result<Value, Error> {
        let error = self.error(Fault::Expected("a whole number below 2^64"));
        let text = self.raw()?;
        if text.parse::<u64>().is_err() && text.parse::<i64>().is_err() {
            return Err(error);
        }
        // The one whole number that JSON spells in two ways.
        let text = if text == "-0" { "0" } else { text };
        Ok(Value::Number(Number(text.into())))
    }
}

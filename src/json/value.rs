//! JSON values in memory, for the few that are kept: templates, staged changes, settings.
//!
//! serde_json has floats, a tree for each object, and the code to print both; these were a third of the policy. And
//! here, equal text means equal values, whichever features of serde_json another crate of the build enables.

use std::borrow::Cow;

use super::error::{Error, ErrorKind};
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

/// A number in canonical form: equal text means equal numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number(Box<str>);

/// Reads a text as one value.
///
/// # Errors
/// [`Error`]. Unlike in serde_json, these are errors: duplicate keys, because readers differ on them; numbers that are
/// not whole, because floats lose digits; more than [`MAX_VALUES`](super::MAX_VALUES) values, because they take memory.
/// Nothing that is read here has any of them.
pub fn read(text: &str) -> Result<Value, Error> {
    let mut reader = Reader::new(text);
    let value = reader.value()?;
    reader.end()?;
    Ok(value)
}

impl Value {
    /// The string, if the value is one.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// The number, if the value is one that fits.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        match self {
            Self::Number(number) => number.0.parse().ok(),
            _ => None,
        }
    }

    /// The items, if the value is a list.
    #[must_use]
    pub fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The members, if the value is an object.
    #[must_use]
    pub const fn as_object(&self) -> Option<&Map<Self>> {
        match self {
            Self::Object(members) => Some(members),
            _ => None,
        }
    }
}

impl Number {
    /// The canonical text of the number.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A number from its canonical text.
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

impl<'a> Reader<'a> {
    /// Reads an object of strings. It may have more members than values are kept of one text.
    ///
    /// # Errors
    /// If the value is no object, a member is no string, or a key occurs twice.
    pub fn strings(&mut self) -> Result<Map<Cow<'a, str>>, Error> {
        let mut members = Vec::new();
        self.object(|reader, key| {
            members.push((key.into_owned(), reader.string()?));
            Ok(())
        })?;
        Map::from_unsorted(members).ok_or_else(|| self.error(ErrorKind::Duplicate))
    }

    /// Reads the next value.
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
                        Err(reader.error(ErrorKind::Duplicate))
                    }
                })?;
                if members.sort() {
                    Ok(Value::Object(members))
                } else {
                    Err(self.error(ErrorKind::Duplicate))
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
            _ => Err(self.unexpected(ErrorKind::Syntax)),
        }
    }

    fn number(&mut self) -> Result<Value, Error> {
        let error = self.error(ErrorKind::Expected("a whole number below 2^64"));
        let text = self.raw()?;
        if text.parse::<u64>().is_err() && text.parse::<i64>().is_err() {
            return Err(error);
        }
        // The only whole number with two forms in JSON.
        let text = if text == "-0" { "0" } else { text };
        Ok(Value::Number(Number(text.into())))
    }
}

//! Whole values, for the few that are kept: templates, records, settings.

use serde_json::{Map, Number, Value};

use super::error::{Error, Fault};
use super::read::Reader;

/// Reads a text as one value.
///
/// # Errors
/// [`Error`]; among what serde_json would read, duplicate keys and numbers that are not whole are refused: the first
/// mean different things to different readers, the second lose digits, and nothing that is read here has any.
pub fn read(text: &str) -> Result<Value, Error> {
    let mut reader = Reader::new(text);
    let value = reader.value()?;
    reader.end()?;
    Ok(value)
}

impl Reader<'_> {
    /// Takes whatever comes next, as a value.
    ///
    /// # Errors
    /// As [`read`].
    pub fn value(&mut self) -> Result<Value, Error> {
        match self.peek() {
            b'{' => {
                let mut map = Map::new();
                self.object(|reader, key| {
                    let value = reader.value()?;
                    match map.insert(key.into_owned(), value) {
                        Some(_) => Err(reader.error(Fault::Duplicate)),
                        None => Ok(()),
                    }
                })?;
                Ok(Value::Object(map))
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
        let number = match text.parse::<u64>() {
            Ok(number) => Number::from(number),
            Err(_) => Number::from(text.parse::<i64>().map_err(|_| error)?),
        };
        Ok(Value::Number(number))
    }
}

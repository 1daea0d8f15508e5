//! Canonical JSON text.

use std::iter::Peekable;
use std::slice;

use super::map::Map;
use super::special;
use super::value::Value;

/// Writes an object from the members of a map and further members. The text is canonical if the caller adds these in
/// the order of their keys.
pub struct Members<'m, 't> {
    rest: Peekable<slice::Iter<'m, (String, Value)>>,
    text: &'t mut String,
    separator: char,
}

impl<'m, 't> Members<'m, 't> {
    /// Begins an object with the members of this map.
    #[must_use]
    pub fn of(map: &'m Map<Value>, text: &'t mut String) -> Self {
        Self {
            rest: map.as_slice().iter().peekable(),
            text,
            separator: '{',
        }
    }

    /// Writes a key, and returns the text for the caller to append the value to. The member replaces the one of the
    /// map.
    pub fn member(&mut self, key: &str) -> &mut String {
        while let Some((before, value)) = self.rest.next_if(|(other, _)| other.as_str() < key) {
            self.key(before);
            write_canonical(value, self.text);
        }
        self.rest.next_if(|(other, _)| other == key);
        self.key(key);
        self.text
    }

    /// Writes the remaining members of the map.
    pub fn end(mut self) {
        while let Some((key, value)) = self.rest.next() {
            self.key(key);
            write_canonical(value, self.text);
        }
        if self.separator == '{' {
            self.text.push('{');
        }
        self.text.push('}');
    }

    fn key(&mut self, key: &str) {
        self.text.push(self.separator);
        self.separator = ',';
        write_string(key, self.text);
        self.text.push(':');
    }
}

/// The canonical text of a value: sorted keys, no spaces, unescaped UTF-8.
#[must_use]
pub fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write_canonical(value, &mut text);
    text
}

fn write_canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(map) => Members::of(map, text).end(),
        Value::Array(items) => {
            text.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_canonical(item, text);
            }
            text.push(']');
        }
        Value::String(string) => write_string(string, text),
        Value::Null => text.push_str("null"),
        Value::Bool(true) => text.push_str("true"),
        Value::Bool(false) => text.push_str("false"),
        Value::Number(number) => text.push_str(number.as_str()),
    }
}

/// Appends a string in quotes, with the escapes that JSON requires.
pub fn write_string(string: &str, text: &mut String) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    text.reserve(string.len() + 2);
    text.push('"');
    let mut rest = string;
    loop {
        let place = special::before(rest.as_bytes());
        text.push_str(rest.get(..place).unwrap_or_default());
        let Some(byte) = rest.as_bytes().get(place).copied() else {
            break;
        };
        rest = rest.get(place + 1..).unwrap_or_default();
        match byte {
            b'"' => text.push_str("\\\""),
            b'\\' => text.push_str("\\\\"),
            b'\n' => text.push_str("\\n"),
            b'\r' => text.push_str("\\r"),
            b'\t' => text.push_str("\\t"),
            control => {
                text.push_str(if control < 0x10 { "\\u000" } else { "\\u001" });
                text.push(char::from(HEX[usize::from(control & 15)]));
            }
        }
    }
    text.push('"');
}

//! JSON as this project reads and writes it where bytes matter: strict going in, canonical coming out.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// A JSON value in which no object has the same key twice.
///
/// Go's decoder takes the last of two equal keys and others the first, so a text with both means different things to
/// different readers. It is refused here.
#[derive(Clone, Debug, PartialEq)]
pub struct Strict(pub Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Strict)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON without duplicate keys")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(Strict(item)) = list.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = object.next_key::<String>()? {
            let Strict(value) = object.next_value()?;
            if map.insert(key, value).is_some() {
                return Err(A::Error::custom("duplicate key"));
            }
        }
        Ok(Value::Object(map))
    }
}

/// Reads a text as JSON without duplicate keys, nested at most 128 deep.
///
/// # Errors
/// serde_json's, which name line and column and nothing of the text.
pub fn read(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str::<Strict>(text).map(|Strict(value)| value)
}

/// The canonical text of a value: keys sorted by their bytes, no spaces, UTF-8 unescaped.
///
/// The keys are sorted here and not by the map, because another crate of the same build may switch serde_json's maps
/// to insertion order, and policy and controller must print the same bytes.
#[must_use]
pub fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write_canonical(value, &mut text);
    text
}

fn write_canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(map) => {
            let mut keys: Vec<&str> = map.keys().map(String::as_str).collect();
            keys.sort_unstable();
            text.push('{');
            for (index, key) in keys.into_iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_string(key, text);
                text.push(':');
                write_canonical(&map[key], text);
            }
            text.push('}');
        }
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
        Value::Number(number) => text.push_str(&number.to_string()),
    }
}

/// Appends a string in quotes, escaped only where JSON asks for it.
pub fn write_string(string: &str, text: &mut String) {
    text.push('"');
    for character in string.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            control if u32::from(control) < 0x20 => {
                const HEX: [char; 16] = [
                    '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
                ];
                text.push_str("\\u00");
                text.push(HEX[(u32::from(control) >> 4) as usize]);
                text.push(HEX[(u32::from(control) & 15) as usize]);
            }
            other => text.push(other),
        }
    }
    text.push('"');
}

#[cfg(test)]
mod tests {
    use super::{canonical, read};

    #[test]
    fn canonical_text_has_sorted_keys_no_spaces_and_unescaped_utf8() {
        let value = read(r#"{ "b": [1, {"d": null, "c": "x\u00e9\n"}], "a": true }"#).expect("valid");
        assert_eq!(canonical(&value), "{\"a\":true,\"b\":[1,{\"c\":\"xé\\n\",\"d\":null}]}");
    }

    #[test]
    fn duplicate_keys_are_refused_at_any_depth_also_when_they_are_spelt_differently() {
        for text in [r#"{"a":1,"a":1}"#, r#"[{"x":{"a":1,"\u0061":2}}]"#] {
            let error = read(text).expect_err(text).to_string();
            assert!(error.starts_with("duplicate key"), "{error}");
        }
    }

    #[test]
    fn nesting_beyond_128_is_refused() {
        let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(read(&deep(127)).is_ok());
        assert!(read(&deep(128)).is_err());
    }

    #[test]
    fn every_control_character_reads_back() {
        let string: String = (0..0x20_u8)
            .map(char::from)
            .chain("\"\\/\u{7f}\u{2028}😀".chars())
            .collect();
        let text = canonical(&string.clone().into());
        assert_eq!(read(&text).expect("valid"), string);
    }
}

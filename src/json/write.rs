//! Going out: canonical text.

use super::special;
use super::value::Value;

/// The canonical text of a value: keys sorted by their bytes, no spaces, UTF-8 unescaped.
#[must_use]
pub fn canonical(value: &Value) -> String {
    let mut text = String::new();
    write_canonical(value, &mut text);
    text
}

fn write_canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(map) => {
            text.push('{');
            for (index, (key, value)) in map.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                write_string(key, text);
                text.push(':');
                write_canonical(value, text);
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
        Value::Number(number) => text.push_str(number.as_str()),
    }
}

/// Appends a string in quotes, escaped only where JSON asks for it.
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

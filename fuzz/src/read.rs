//! Target `read`: an object that somebody wrote, in the lists and watches of the controller.

use claim_rollout::controller::{FIELDS, read_beside_others};
use serde_json::value::RawValue;

use crate::bytes::Bytes;
use crate::generated::choices::Choices;

/// The values other than objects and lists.
const LEAVES: [&str; 16] = [
    "null",
    "true",
    "0",
    "-1",
    "1.5",
    "1e999",
    "18446744073709551616",
    "\"\"",
    "\"x\"",
    "\"1Gi\"",
    "\"10000-01-01T11:59:59Z\"",
    "\"2026-01-01T00:00:00Z\"",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "\"Ready\"",
    "\"apps/v1\"",
];

/// Reads an object between two others, as every kind that the controller watches or lists.
///
/// # Laws
/// * The others are read, whatever the object is.
/// * An event with the object is an event, whatever the object is.
pub fn read(data: &[u8]) {
    // The client replaces bytes that are no text, too.
    let text = String::from_utf8_lossy(data);
    if serde_json::from_str::<&RawValue>(&text).is_ok() {
        return read_beside_others(&text);
    }
    let mut object = String::new();
    write(&mut Bytes(data), 8, &mut object);
    read_beside_others(&object);
}

/// Writes any value of at most this depth.
fn write(choices: &mut dyn Choices, depth: usize, text: &mut String) {
    let length = if depth == 0 { 0 } else { choices.below(6) };
    match (length, choices.below(4)) {
        (0, _) => text.push_str(choices.word(&LEAVES)),
        (_, 0) => {
            text.push('[');
            for index in 0..length {
                if index > 0 {
                    text.push(',');
                }
                write(choices, depth - 1, text);
            }
            text.push(']');
        }
        _ => {
            text.push('{');
            for index in 0..length {
                if index > 0 {
                    text.push(',');
                }
                text.push_str(&format!("\"{}\":", choices.word(&FIELDS)));
                write(choices, depth - 1, text);
            }
            text.push('}');
        }
    }
}

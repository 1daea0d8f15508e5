//! Recognises a text that differs from a known value only inside of strings, such as a Pod template with another image.

use super::special;

/// The end of the first value in `text` if it differs from `known` only inside of strings; `None` if it differs
/// elsewhere, or if a comparison cannot decide. `known` must be a valid object or list.
///
/// The time is linear in the two texts.
pub(super) fn end(known: &[u8], text: &[u8]) -> Option<usize> {
    let (mut old, mut new) = (0, 0);
    loop {
        let same = common(known.get(old..)?, text.get(new..)?);
        (old, new) = (old + same, new + same);
        if old == known.len() {
            return Some(new);
        }
        let begun = known.get(..old)?.iter().rposition(|byte| *byte == b'"')?;
        // Both texts must have a quote as their next special byte.
        old += special::before(known.get(old..)?);
        new += special::before(text.get(new..)?);
        let quotes = known.get(old) == Some(&b'"') && text.get(new) == Some(&b'"');
        let is_escaped = begun > 0 && known.get(begun - 1) == Some(&b'\\');
        if !quotes || is_escaped || !is_in_string(known.get(begun + 1..old)?) {
            return None;
        }
    }
}

/// True iff the bytes between two quotes are inside of a string, and not between two strings. Bytes with escapes count
/// as outside.
fn is_in_string(between: &[u8]) -> bool {
    let outside = |byte: &u8| b"{}[]:,-+.0123456789eEtrufalsn \t\r\n".contains(byte);
    !between.contains(&b'\\') && !between.iter().all(outside)
}

/// The length of the common prefix, compared by sixteen bytes: in wasm, `==` compares single bytes, which takes as long
/// as parsing.
fn common(one: &[u8], other: &[u8]) -> usize {
    let number = |chunk: &[u8; 16]| u128::from_ne_bytes(*chunk);
    let (chunks, _) = one.as_chunks();
    let (others, _) = other.as_chunks();
    let mut pairs = chunks.iter().zip(others);
    let whole = 16
        * pairs
            .position(|(one, other)| number(one) != number(other))
            .unwrap_or(chunks.len().min(others.len()));
    let rest = one.iter().zip(other).skip(whole);
    whole + rest.take_while(|(one, other)| one == other).count()
}

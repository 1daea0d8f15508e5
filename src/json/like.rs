//! A value that is written as one that was read before, but for what some of its strings hold: a Pod template whose image
//! changed.

use super::special;

/// Where the value ends that `text` begins with, if it is written as `known` but for what is in strings; nothing if it is
/// not, or if that cannot be told from the two. `known` must be an object or a list that was read.
///
/// Time is linear in the two texts.
pub(super) fn end(known: &[u8], text: &[u8]) -> Option<usize> {
    let (mut old, mut new) = (0, 0);
    loop {
        let same = common(known.get(old..)?, text.get(new..)?);
        (old, new) = (old + same, new + same);
        if old == known.len() {
            return Some(new);
        }
        let begun = known.get(..old)?.iter().rposition(|byte| *byte == b'"')?;
        // Both have to end at their next special byte, a quote.
        old += special::before(known.get(old..)?);
        new += special::before(text.get(new..)?);
        let quotes = known.get(old) == Some(&b'"') && text.get(new) == Some(&b'"');
        let is_escaped = begun > 0 && known.get(begun - 1) == Some(&b'\\');
        if !quotes || is_escaped || !is_in_string(known.get(begun + 1..old)?) {
            return None;
        }
    }
}

/// True iff what stands between two quotes stands in a string, and not between two strings; nothing is said of escapes.
fn is_in_string(between: &[u8]) -> bool {
    let outside = |byte: &u8| b"{}[]:,-+.0123456789eEtrufalsn \t\r\n".contains(byte);
    !between.contains(&b'\\') && !between.iter().all(outside)
}

/// How many bytes both begin with, found sixteen at a time: `==` looks at one after the other in the guest, which takes as
/// long as reading them does.
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

/// True iff both texts are the same bytes.
#[must_use]
pub fn same(one: &str, other: &str) -> bool {
    one.len() == other.len() && common(one.as_bytes(), other.as_bytes()) == one.len()
}

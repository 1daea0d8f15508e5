//! Finds the bytes that must be escaped in a string, sixteen at a time: quotes, backslashes and control characters.

/// The number of bytes that are checked at once.
const WIDTH: usize = 16;

/// The number of bytes before the first special one; all of them if none is special.
#[inline(always)]
pub(super) fn before(text: &[u8]) -> usize {
    // The fast path without a loop: most strings are short, and callers inline this function.
    if let Some(chunk) = text.first_chunk() {
        let found = in_chunk(chunk);
        if found < WIDTH {
            return found;
        }
    }
    in_long(text)
}

#[inline(never)]
fn in_long(text: &[u8]) -> usize {
    let mut rest = text;
    while let Some((chunk, behind)) = rest.split_first_chunk() {
        let found = in_chunk(chunk);
        if found < WIDTH {
            return text.len() - rest.len() + found;
        }
        rest = behind;
    }
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | ..b' ');
    text.len() - rest.len() + rest.iter().position(is_special).unwrap_or(rest.len())
}

#[inline(always)]
#[cfg(target_feature = "simd128")]
fn in_chunk(chunk: &[u8; WIDTH]) -> usize {
    use std::arch::wasm32::{u8x16_bitmask, u8x16_eq, u8x16_lt, u8x16_splat, u64x2, v128_or};
    let [low, high] = words(chunk);
    let bytes = u64x2(low, high);
    let quote = u8x16_eq(bytes, u8x16_splat(b'"'));
    let backslash = u8x16_eq(bytes, u8x16_splat(b'\\'));
    let control = u8x16_lt(bytes, u8x16_splat(b' '));
    let special = u8x16_bitmask(v128_or(v128_or(quote, backslash), control));
    (u32::from(special) | 1 << WIDTH).trailing_zeros() as usize
}

/// The same without SIMD instructions.
#[inline(always)]
#[cfg(not(target_feature = "simd128"))]
fn in_chunk(chunk: &[u8; WIDTH]) -> usize {
    let [low, high] = words(chunk).map(special);
    let zeros = if low == 0 {
        64 + high.trailing_zeros()
    } else {
        low.trailing_zeros()
    };
    (zeros / 8) as usize
}

/// The two halves of a chunk, the first byte lowest.
#[inline(always)]
#[allow(clippy::cast_possible_truncation)] // the lower half is what is meant
fn words(chunk: &[u8; WIDTH]) -> [u64; 2] {
    let both = u128::from_le_bytes(*chunk);
    [both as u64, (both >> 64) as u64]
}

/// The high bit of the lowest special byte. Higher bits may be wrong; callers ignore them.
#[cfg(not(target_feature = "simd128"))]
const fn special(word: u64) -> u64 {
    let found = zero_byte(word ^ each(b'"')) | zero_byte(word ^ each(b'\\'));
    // Control characters are below 0x20.
    found | word.wrapping_sub(each(0x20)) & !word & each(0x80)
}

/// The high bit of the lowest zero byte.
#[cfg(not(target_feature = "simd128"))]
const fn zero_byte(word: u64) -> u64 {
    word.wrapping_sub(each(1)) & !word & each(0x80)
}

/// A word of equal bytes.
#[cfg(not(target_feature = "simd128"))]
const fn each(byte: u8) -> u64 {
    0x0101_0101_0101_0101 * byte as u64
}

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::before;

    #[test]
    fn first_special_byte_is_found() {
        for length in 0..50 {
            let plain = vec![b'a'; length];
            assert_eq!(before(&plain), length);
            for place in 0..length {
                for byte in 0..=u8::MAX {
                    let mut text = plain.clone();
                    text[place] = byte;
                    // Special bytes behind the first one must not matter.
                    text[place + 1..].fill(b'"');
                    let is_special = byte < 0x20 || byte == b'"' || byte == b'\\';
                    let expected = if is_special { place } else { length.min(place + 1) };
                    assert_eq!(before(&text), expected, "{byte:#x} at {place} of {length}");
                }
            }
        }
    }
}

//! The fast half of the reader: checks that something is JSON and finds its end, without keeping anything.

use super::MAX_DEPTH;
use super::error::{Error, Fault};

/// The containers that are open, innermost in the lowest bit: 1 for an object, 0 for a list. 128 bits are 128 levels.
#[derive(Clone, Copy)]
struct Open {
    kinds: u128,
    depth: u32,
}

/// The end of the value that begins at `at`, in a text of which `depth` containers are open already.
pub(super) fn value(bytes: &[u8], mut at: usize, depth: u32) -> Result<usize, Error> {
    let mut open = Open { kinds: 0, depth };
    loop {
        match bytes.get(at) {
            Some(b'"') => at = string(bytes, at)?.end,
            Some(b'{') => {
                push(&mut open, 1, at)?;
                at = blank(bytes, at + 1);
                if bytes.get(at) != Some(&b'}') {
                    at = key(bytes, at)?;
                    continue;
                }
            }
            Some(b'[') => {
                push(&mut open, 0, at)?;
                at = blank(bytes, at + 1);
                if bytes.get(at) != Some(&b']') {
                    continue;
                }
            }
            Some(b'-' | b'0'..=b'9') => at = number(bytes, at)?,
            Some(b't') => at = literal(bytes, at, b"true")?,
            Some(b'f') => at = literal(bytes, at, b"false")?,
            Some(b'n') => at = literal(bytes, at, b"null")?,
            _ => return Err(unexpected(bytes, at)),
        }
        // A value has ended (or an empty container is about to): what follows closes containers or goes on.
        loop {
            if open.depth == depth {
                return Ok(at);
            }
            at = blank(bytes, at);
            match (bytes.get(at), open.kinds & 1) {
                (Some(b'}'), 1) | (Some(b']'), 0) => {
                    open.kinds >>= 1;
                    open.depth -= 1;
                    at += 1;
                }
                (Some(b','), 1) => {
                    at = key(bytes, blank(bytes, at + 1))?;
                    break;
                }
                (Some(b','), _) => {
                    at = blank(bytes, at + 1);
                    break;
                }
                _ => return Err(unexpected(bytes, at)),
            }
        }
    }
}

#[inline]
fn push(open: &mut Open, kind: u128, at: usize) -> Result<(), Error> {
    if open.depth == MAX_DEPTH {
        return Err(Error {
            fault: Fault::Depth,
            at,
        });
    }
    open.kinds = open.kinds << 1 | kind;
    open.depth += 1;
    Ok(())
}

/// A key, its colon, and what is blank around them.
#[inline]
fn key(bytes: &[u8], at: usize) -> Result<usize, Error> {
    if bytes.get(at) != Some(&b'"') {
        return Err(unexpected(bytes, at));
    }
    let at = blank(bytes, string(bytes, at)?.end);
    if bytes.get(at) != Some(&b':') {
        return Err(unexpected(bytes, at));
    }
    Ok(blank(bytes, at + 1))
}

#[inline]
fn blank(bytes: &[u8], mut at: usize) -> usize {
    while matches!(bytes.get(at), Some(b' ' | b'\n' | b'\r' | b'\t')) {
        at += 1;
    }
    at
}

/// A string that was passed.
pub(super) struct Passed {
    /// Behind the closing quote.
    pub(super) end: usize,
    /// Whether there is an escape in it.
    pub(super) escaped: bool,
}

/// Every byte of a word the same.
const fn each(byte: u8) -> u64 {
    0x0101_0101_0101_0101 * byte as u64
}

/// The string whose opening quote is at `at`. Always inlined: every token passes here, and a `Result` is returned through memory.
#[inline(always)]
pub(super) fn string(bytes: &[u8], at: usize) -> Result<Passed, Error> {
    let mut at = at + 1;
    let mut escaped = false;
    loop {
        // Eight bytes at a time, as long as none of them is a quote, a backslash or a control character.
        while let Some(word) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
            let word = u64::from_le_bytes(*word);
            let special = zero_byte(word ^ each(b'"')) | zero_byte(word ^ each(b'\\')) | below_space(word);
            if special != 0 {
                at += (special.trailing_zeros() / 8) as usize;
                break;
            }
            at += 8;
        }
        match bytes.get(at) {
            Some(b'"') => return Ok(Passed { end: at + 1, escaped }),
            Some(b'\\') => {
                escaped = true;
                at = escape(bytes, at + 1)?;
            }
            Some(0x20..) => at += 1,
            _ => return Err(unexpected(bytes, at)),
        }
    }
}

/// The high bit of the lowest byte that is zero; higher bits may be wrong, and are not looked at.
const fn zero_byte(word: u64) -> u64 {
    word.wrapping_sub(each(1)) & !word & each(0x80)
}

/// The high bit of the lowest byte below 0x20.
const fn below_space(word: u64) -> u64 {
    word.wrapping_sub(each(0x20)) & !word & each(0x80)
}

/// Behind an escape whose backslash has been passed. Whether surrogates pair is left to who reads the string.
fn escape(bytes: &[u8], at: usize) -> Result<usize, Error> {
    match bytes.get(at) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 1),
        Some(b'u') => {
            let digits = bytes.get(at + 1..).unwrap_or_default();
            let count = digits
                .iter()
                .take(4)
                .take_while(|byte| byte.is_ascii_hexdigit())
                .count();
            if count == 4 {
                Ok(at + 5)
            } else {
                Err(unexpected(bytes, at + 1 + count))
            }
        }
        _ => Err(unexpected(bytes, at)),
    }
}

fn literal(bytes: &[u8], at: usize, word: &[u8]) -> Result<usize, Error> {
    if bytes.get(at..at + word.len()) == Some(word) {
        Ok(at + word.len())
    } else {
        Err(unexpected(bytes, bytes.len().min(at + 1)))
    }
}

/// A number as JSON writes it: no leading zero, no sign but minus, digits on both sides of the point.
fn number(bytes: &[u8], mut at: usize) -> Result<usize, Error> {
    if bytes.get(at) == Some(&b'-') {
        at += 1;
    }
    at = match bytes.get(at) {
        Some(b'0') => at + 1,
        _ => digits(bytes, at)?,
    };
    if bytes.get(at) == Some(&b'.') {
        at = digits(bytes, at + 1)?;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        at += 1;
        if let Some(b'+' | b'-') = bytes.get(at) {
            at += 1;
        }
        at = digits(bytes, at)?;
    }
    Ok(at)
}

fn digits(bytes: &[u8], start: usize) -> Result<usize, Error> {
    let mut at = start;
    while let Some(b'0'..=b'9') = bytes.get(at) {
        at += 1;
    }
    if at == start {
        Err(unexpected(bytes, at))
    } else {
        Ok(at)
    }
}

#[cold]
fn unexpected(bytes: &[u8], at: usize) -> Error {
    let fault = if at >= bytes.len() { Fault::End } else { Fault::Syntax };
    Error {
        fault,
        at: at.min(bytes.len()),
    }
}

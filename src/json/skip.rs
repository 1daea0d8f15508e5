//! Checks the syntax of a value and finds its end, without keeping anything.

use std::slice;

use super::MAX_DEPTH;
use super::error::{Error, ErrorKind};
use super::special;

/// The open containers, the innermost one in the lowest bit: 1 for an object, 0 for a list. 128 bits for 128 levels.
type Containers = u128;

/// The rest of a text. An iterator needs no addition for each byte, unlike an index.
struct Scan<'a> {
    text: &'a [u8],
    rest: slice::Iter<'a, u8>,
}

/// The end of the value at `at`, inside of `depth` open containers.
pub(super) fn value(text: &[u8], at: usize, depth: u32) -> Result<usize, Error> {
    let mut scan = Scan::at(text, at);
    let (mut open, mut levels): (Containers, u32) = (0, 0);
    let mut byte = scan.next();
    loop {
        // In an object, a key comes after the brace and after each comma.
        if open & 1 == 1 {
            if byte != b'"' {
                return Err(scan.unexpected());
            }
            scan.string()?;
            if scan.next() != b':' {
                return Err(scan.unexpected());
            }
            scan.pass();
            byte = scan.next();
        }
        match byte {
            b'"' => {
                scan.string()?;
            }
            b'{' | b'[' => {
                if levels + depth == MAX_DEPTH {
                    return Err(scan.error(ErrorKind::Depth));
                }
                levels += 1;
                open = open << 1 | Containers::from(byte == b'{');
                scan.pass();
                byte = scan.next();
                if byte != closing(open) {
                    continue;
                }
            }
            b'-' | b'0'..=b'9' => scan.go_on(number)?,
            b't' => scan.go_on(|text, at| literal(text, at, b"true"))?,
            b'f' => scan.go_on(|text, at| literal(text, at, b"false"))?,
            b'n' => scan.go_on(|text, at| literal(text, at, b"null"))?,
            _ => return Err(scan.unexpected()),
        }
        // After a value, or in an empty container: a comma continues, a bracket closes a container.
        loop {
            if levels == 0 {
                return Ok(scan.place());
            }
            byte = scan.next();
            if byte == b',' {
                scan.pass();
                byte = scan.next();
                break;
            }
            if byte != closing(open) {
                return Err(scan.unexpected());
            }
            open >>= 1;
            levels -= 1;
            scan.pass();
        }
    }
}

/// The byte that closes the innermost container.
const fn closing(open: Containers) -> u8 {
    if open & 1 == 1 { b'}' } else { b']' }
}

impl<'a> Scan<'a> {
    #[inline(always)]
    fn at(text: &'a [u8], at: usize) -> Self {
        let rest = text.get(at..).unwrap_or_default().iter();
        Self { text, rest }
    }

    #[inline(always)]
    fn place(&self) -> usize {
        self.text.len() - self.rest.len()
    }

    fn error(&self, fault: ErrorKind) -> Error {
        Error {
            fault,
            at: self.place(),
        }
    }

    fn unexpected(&self) -> Error {
        unexpected(self.text, self.place())
    }

    /// Consumes the next byte.
    #[inline(always)]
    fn pass(&mut self) {
        self.rest.next();
    }

    /// The next byte after white space; 0 at the end.
    #[inline(always)]
    fn next(&mut self) -> u8 {
        match self.rest.as_slice().first() {
            // The fast path: API servers write no white space.
            Some(byte) if *byte > b' ' => *byte,
            _ => {
                self.rest = behind_blanks(self.rest.as_slice()).iter();
                self.rest.as_slice().first().copied().unwrap_or_default()
            }
        }
    }

    /// Consumes a string whose quote is next, and returns whether it has escapes. Always inlined: every token comes
    /// here, and a `Result` would be returned through memory.
    #[inline(always)]
    fn string(&mut self) -> Result<bool, Error> {
        self.pass();
        let mut escaped = false;
        loop {
            match self.rest.nth(special::before(self.rest.as_slice())) {
                Some(b'"') => return Ok(escaped),
                Some(b'\\') => {
                    escaped = true;
                    self.go_on(escape)?;
                }
                Some(_) => return Err(unexpected(self.text, self.place() - 1)),
                None => return Err(self.unexpected()),
            }
        }
    }

    /// Consumes a rare token, which is found by index.
    #[inline(always)]
    fn go_on(&mut self, end: impl Fn(&[u8], usize) -> Result<usize, Error>) -> Result<(), Error> {
        let end = end(self.text, self.place())?;
        self.rest = Self::at(self.text, end).rest;
        Ok(())
    }
}

/// The text after its white space.
#[cold]
#[inline(never)]
pub(super) fn behind_blanks(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\n' | b'\r' | b'\t', rest @ ..] = text {
        text = rest;
    }
    text
}

/// A string in a text.
pub(super) struct StringToken {
    /// The index after the closing quote.
    pub(super) end: usize,
    /// Whether the string has escapes.
    pub(super) escaped: bool,
}

/// The string whose opening quote is at `at`.
#[inline(always)]
pub(super) fn string(text: &[u8], at: usize) -> Result<StringToken, Error> {
    let mut scan = Scan::at(text, at);
    let escaped = scan.string()?;
    Ok(StringToken {
        end: scan.place(),
        escaped,
    })
}

/// The index after an escape whose backslash was consumed. The caller checks pairs of surrogates.
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

/// The index after a number: no leading zero, no sign except minus, digits on both sides of the point.
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
    let fault = if at >= bytes.len() {
        ErrorKind::End
    } else {
        ErrorKind::Syntax
    };
    Error {
        fault,
        at: at.min(bytes.len()),
    }
}

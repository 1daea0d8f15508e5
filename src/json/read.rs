//! The reader: returns the values of a text, one after the other, in their order.

use std::borrow::Cow;

use super::error::{Error, ErrorKind};
use super::{MAX_DEPTH, MAX_VALUES};
use super::{escape, like, skip};

/// Reads a JSON text from its beginning.
///
/// A caller that reads an object must consume the value of each member, at least with [`Reader::skip`].
///
/// # Guarantees
/// Linear time, no panics. Borrowed strings point into the text, so their position is known.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
    /// The number of values that were kept.
    kept: u32,
}

/// Makes sure that each field occurs once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Once(u32);

impl Once {
    /// Marks a field as read. Fields have numbers below 32.
    ///
    /// # Errors
    /// [`ErrorKind::Duplicate`] if the field is marked already.
    pub fn mark(&mut self, field: u32, reader: &Reader<'_>) -> Result<(), Error> {
        let bit = 1 << field;
        if self.0 & bit != 0 {
            return Err(reader.error(ErrorKind::Duplicate));
        }
        self.0 |= bit;
        Ok(())
    }

    /// Reads a string; `null` is an empty one.
    ///
    /// # Errors
    /// As [`Once::mark`], and if the value is not a string.
    pub fn text<'a>(&mut self, field: u32, reader: &mut Reader<'a>) -> Result<Cow<'a, str>, Error> {
        self.read(field, reader, |reader| {
            if reader.null()? {
                return Ok(Cow::default());
            }
            reader.string()
        })
    }

    /// Reads the text of any value.
    ///
    /// # Errors
    /// As [`Once::mark`] and [`Reader::raw`].
    pub fn raw<'a>(&mut self, field: u32, reader: &mut Reader<'a>) -> Result<Option<&'a str>, Error> {
        self.raw_like(field, reader, None)
    }

    /// Reads the text of any value. `known` is a value that it may resemble.
    ///
    /// # Errors
    /// As [`Once::mark`] and [`Reader::raw_like`].
    pub fn raw_like<'a>(
        &mut self,
        field: u32,
        reader: &mut Reader<'a>,
        known: Option<&str>,
    ) -> Result<Option<&'a str>, Error> {
        self.mark(field, reader)?;
        reader.raw_like(known).map(Some)
    }

    /// Reads a field with `read`.
    ///
    /// # Errors
    /// As [`Once::mark`], and the errors of `read`.
    pub fn read<'a, T>(
        &mut self,
        field: u32,
        reader: &mut Reader<'a>,
        read: impl FnOnce(&mut Reader<'a>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.mark(field, reader)?;
        read(reader)
    }
}

/// Reads a member of an object.
type Member<'m, 'a> = dyn FnMut(&mut Reader<'a>, Cow<'a, str>) -> Result<(), Error> + 'm;

/// Reads an item of a list.
type Item<'i, 'a> = dyn FnMut(&mut Reader<'a>) -> Result<(), Error> + 'i;

impl<'a> Reader<'a> {
    /// A reader at the beginning of a text.
    #[must_use]
    pub const fn new(text: &'a str) -> Self {
        Self {
            text,
            at: 0,
            depth: 0,
            kept: 0,
        }
    }

    /// An error at the current position.
    #[must_use]
    pub const fn error(&self, fault: ErrorKind) -> Error {
        Error { fault, at: self.at }
    }

    /// The position of the next value.
    pub fn place(&mut self) -> usize {
        self.peek();
        self.at
    }

    /// The text from a position to the current one.
    #[must_use]
    pub fn since(&self, place: usize) -> &'a str {
        self.text.get(place..self.at).unwrap_or_default()
    }

    /// The next byte after white space; 0 at the end.
    #[inline(always)]
    pub(super) fn peek(&mut self) -> u8 {
        match self.text.as_bytes().get(self.at) {
            // The fast path: API servers write no white space.
            Some(byte) if *byte > b' ' => *byte,
            _ => self.peek_behind_blanks(),
        }
    }

    #[cold]
    fn peek_behind_blanks(&mut self) -> u8 {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let behind = skip::behind_blanks(rest);
        self.at += rest.len() - behind.len();
        behind.first().copied().unwrap_or_default()
    }

    /// The error for an unexpected byte, or for the end of the text.
    #[cold]
    pub(super) fn unexpected(&self, fault: ErrorKind) -> Error {
        let ends = self.at >= self.text.len();
        self.error(if ends { ErrorKind::End } else { fault })
    }

    #[inline]
    fn expect(&mut self, byte: u8) -> Result<(), Error> {
        if self.peek() == byte {
            self.at += 1;
            return Ok(());
        }
        Err(self.unexpected(ErrorKind::Syntax))
    }

    /// Checks that only white space follows.
    ///
    /// # Errors
    /// If something else follows.
    pub fn end(&mut self) -> Result<(), Error> {
        self.peek();
        if self.at < self.text.len() {
            Err(self.error(ErrorKind::Syntax))
        } else {
            Ok(())
        }
    }

    /// Consumes a `null` if it is the next value.
    ///
    /// # Errors
    /// If the next value only begins like `null`.
    #[inline(always)]
    pub fn null(&mut self) -> Result<bool, Error> {
        if self.peek() == b'n' {
            self.skip().map(|()| true)
        } else {
            Ok(false)
        }
    }

    /// Consumes the next value.
    ///
    /// # Errors
    /// If the value is not JSON or is nested too deep.
    pub fn skip(&mut self) -> Result<(), Error> {
        self.peek();
        self.at = skip::value(self.text.as_bytes(), self.at, self.depth)?;
        Ok(())
    }

    /// Consumes the next value and returns its text.
    ///
    /// # Errors
    /// As [`Reader::skip`].
    pub fn raw(&mut self) -> Result<&'a str, Error> {
        self.raw_like(None)
    }

    /// Consumes the next value and returns its text. An object or list that differs from `known` only inside of strings
    /// is not parsed. `known` must be a value that was read at the same depth.
    ///
    /// # Errors
    /// As [`Reader::skip`].
    pub fn raw_like(&mut self, known: Option<&str>) -> Result<&'a str, Error> {
        let place = self.place();
        // Only objects and lists: the end of their text is the end of the value.
        let known = known.filter(|known| known.starts_with(['{', '[']));
        let text = self.text.as_bytes().get(place..).unwrap_or_default();
        match known.and_then(|known| like::end(known.as_bytes(), text)) {
            Some(end) => self.at = place + end,
            None => self.skip()?,
        }
        Ok(self.since(place))
    }

    /// Reads an object. `member` is called with each key and consumes the value.
    ///
    /// # Errors
    /// If the value is not an object, and the errors of `member`.
    pub fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, Cow<'a, str>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.members(&mut member)
    }

    /// One copy for all callers: a generic function would be a quarter of the policy.
    fn members(&mut self, member: &mut Member<'_, 'a>) -> Result<(), Error> {
        if self.peek() != b'{' {
            return Err(self.unexpected(ErrorKind::Expected("an object")));
        }
        self.enter()?;
        if self.peek() == b'}' {
            self.leave();
            return Ok(());
        }
        loop {
            if self.peek() != b'"' {
                return Err(self.unexpected(ErrorKind::Syntax));
            }
            let key = self.string()?;
            self.expect(b':')?;
            member(self, key)?;
            match self.peek() {
                b',' => self.at += 1,
                b'}' => {
                    self.leave();
                    return Ok(());
                }
                _ => return Err(self.unexpected(ErrorKind::Syntax)),
            }
        }
    }

    /// Reads a list. `item` is called for each item and consumes it.
    ///
    /// # Errors
    /// If the value is not a list, and the errors of `item`.
    pub fn list(&mut self, mut item: impl FnMut(&mut Self) -> Result<(), Error>) -> Result<(), Error> {
        self.items(&mut item)
    }

    fn items(&mut self, item: &mut Item<'_, 'a>) -> Result<(), Error> {
        if self.peek() != b'[' {
            return Err(self.unexpected(ErrorKind::Expected("a list")));
        }
        self.enter()?;
        if self.peek() == b']' {
            self.leave();
            return Ok(());
        }
        loop {
            item(self)?;
            match self.peek() {
                b',' => self.at += 1,
                b']' => {
                    self.leave();
                    return Ok(());
                }
                _ => return Err(self.unexpected(ErrorKind::Syntax)),
            }
        }
    }

    /// Counts a value that is kept.
    pub(super) fn keep(&mut self) -> Result<(), Error> {
        self.kept += 1;
        if self.kept > MAX_VALUES {
            return Err(self.error(ErrorKind::Values));
        }
        Ok(())
    }

    fn enter(&mut self) -> Result<(), Error> {
        if self.depth == MAX_DEPTH {
            return Err(self.error(ErrorKind::Depth));
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    fn leave(&mut self) {
        self.depth -= 1;
        self.at += 1;
    }

    /// Reads a string. It is borrowed if it has no escapes.
    ///
    /// # Errors
    /// If the value is not a string.
    #[inline]
    pub fn string(&mut self) -> Result<Cow<'a, str>, Error> {
        if self.peek() != b'"' {
            return Err(self.unexpected(ErrorKind::Expected("a string")));
        }
        let start = self.at + 1;
        let string = skip::string(self.text.as_bytes(), self.at)?;
        self.at = string.end;
        let inside = self.text.get(start..string.end - 1).unwrap_or_default();
        if string.escaped {
            return escape::read(inside).map(Cow::Owned).ok_or(Error {
                fault: ErrorKind::Syntax,
                at: start,
            });
        }
        Ok(Cow::Borrowed(inside))
    }

    /// Reads `true` or `false`.
    ///
    /// # Errors
    /// If the value is neither.
    pub fn bool(&mut self) -> Result<bool, Error> {
        match self.peek() {
            b't' => self.skip().map(|()| true),
            b'f' => self.skip().map(|()| false),
            _ => Err(self.unexpected(ErrorKind::Expected("true or false"))),
        }
    }

    /// Reads a whole number that fits into an i64.
    ///
    /// # Errors
    /// If the value is not one.
    pub fn integer(&mut self) -> Result<i64, Error> {
        let place = self.place();
        let error = self.unexpected(ErrorKind::Expected("a whole number"));
        self.raw()?.parse().map_err(|_| Error { at: place, ..error })
    }
}

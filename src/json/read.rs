//! The reader: pulls values out of a text, one after the other, in the order in which they stand.

use std::borrow::Cow;

use super::error::{Error, Fault};
use super::{MAX_DEPTH, MAX_VALUES};
use super::{escape, like, skip};

/// Reads one JSON text from the front.
///
/// Whoever reads an object is called for each member and must take the member's value, if only by [`Reader::skip`].
///
/// # Guarantees
/// Time is linear in the text; nothing panics; what is borrowed is borrowed from the text, so that its place is known.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
    /// How many values were kept.
    kept: u32,
}

/// Sees to it that a field is read once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Once(u32);

impl Once {
    /// Notes that a field, known by a number below 32, is being read.
    ///
    /// # Errors
    /// [`Fault::Duplicate`] if it has been before.
    pub fn mark(&mut self, field: u32, reader: &Reader<'_>) -> Result<(), Error> {
        let bit = 1 << field;
        if self.0 & bit != 0 {
            return Err(reader.error(Fault::Duplicate));
        }
        self.0 |= bit;
        Ok(())
    }

    /// A field that holds a string; `null` is an empty one.
    ///
    /// # Errors
    /// As [`Once::mark`], and if it holds something else.
    pub fn text<'a>(&mut self, field: u32, reader: &mut Reader<'a>) -> Result<Cow<'a, str>, Error> {
        self.read(field, reader, |reader| {
            if reader.null()? {
                return Ok(Cow::default());
            }
            reader.string()
        })
    }

    /// A field that is taken as it is written.
    ///
    /// # Errors
    /// As [`Once::mark`] and [`Reader::raw`].
    pub fn raw<'a>(&mut self, field: u32, reader: &mut Reader<'a>) -> Result<Option<&'a str>, Error> {
        self.raw_like(field, reader, None)
    }

    /// A field that is taken as it is written, and may well be written as another.
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

    /// A field that `read` takes.
    ///
    /// # Errors
    /// As [`Once::mark`], and whatever `read` returns.
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

/// What takes a member of an object.
type Member<'m, 'a> = dyn FnMut(&mut Reader<'a>, Cow<'a, str>) -> Result<(), Error> + 'm;

/// What takes an item of a list.
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

    /// An error at the place that has been reached.
    #[must_use]
    pub const fn error(&self, fault: Fault) -> Error {
        Error { fault, at: self.at }
    }

    /// Where the next value begins.
    pub fn place(&mut self) -> usize {
        self.peek();
        self.at
    }

    /// The text from a place to here.
    #[must_use]
    pub fn since(&self, place: usize) -> &'a str {
        self.text.get(place..self.at).unwrap_or_default()
    }

    /// The next byte that is no white space; 0 at the end.
    #[inline(always)]
    pub(super) fn peek(&mut self) -> u8 {
        match self.text.as_bytes().get(self.at) {
            // API servers write none.
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

    /// The fault of finding this byte where another one was expected.
    #[cold]
    pub(super) fn unexpected(&self, fault: Fault) -> Error {
        let ends = self.at >= self.text.len();
        self.error(if ends { Fault::End } else { fault })
    }

    #[inline]
    fn expect(&mut self, byte: u8) -> Result<(), Error> {
        if self.peek() == byte {
            self.at += 1;
            return Ok(());
        }
        Err(self.unexpected(Fault::Syntax))
    }

    /// Ends: only white space may follow.
    ///
    /// # Errors
    /// If more does.
    pub fn end(&mut self) -> Result<(), Error> {
        self.peek();
        if self.at < self.text.len() {
            Err(self.error(Fault::Syntax))
        } else {
            Ok(())
        }
    }

    /// Takes a `null`, if that is what comes next.
    ///
    /// # Errors
    /// If something comes that begins like it.
    #[inline(always)]
    pub fn null(&mut self) -> Result<bool, Error> {
        if self.peek() == b'n' {
            self.skip().map(|()| true)
        } else {
            Ok(false)
        }
    }

    /// Takes whatever comes next.
    ///
    /// # Errors
    /// If it is not JSON, or nested too deep.
    pub fn skip(&mut self) -> Result<(), Error> {
        self.peek();
        self.at = skip::value(self.text.as_bytes(), self.at, self.depth)?;
        Ok(())
    }

    /// Takes whatever comes next, as it is written.
    ///
    /// # Errors
    /// As [`Reader::skip`].
    pub fn raw(&mut self) -> Result<&'a str, Error> {
        self.raw_like(None)
    }

    /// Takes whatever comes next, as it is written. An object or a list that is written as `known`, but for what is in strings,
    /// is not taken apart: that must be a value that was taken at the same depth.
    ///
    /// # Errors
    /// As [`Reader::skip`].
    pub fn raw_like(&mut self, known: Option<&str>) -> Result<&'a str, Error> {
        let place = self.place();
        // What is longer begins otherwise: where these values end is part of how they are written.
        let known = known.filter(|known| known.starts_with(['{', '[']));
        let text = self.text.as_bytes().get(place..).unwrap_or_default();
        match known.and_then(|known| like::end(known.as_bytes(), text)) {
            Some(end) => self.at = place + end,
            None => self.skip()?,
        }
        Ok(self.since(place))
    }

    /// Takes an object; `member` is called with each key and takes the value.
    ///
    /// # Errors
    /// If it is none, and whatever `member` returns.
    pub fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, Cow<'a, str>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.members(&mut member)
    }

    /// The same for all callers: compiled anew for each of them it would be a quarter of the guest.
    fn members(&mut self, member: &mut Member<'_, 'a>) -> Result<(), Error> {
        if self.peek() != b'{' {
            return Err(self.unexpected(Fault::Expected("an object")));
        }
        self.enter()?;
        if self.peek() == b'}' {
            self.leave();
            return Ok(());
        }
        loop {
            if self.peek() != b'"' {
                return Err(self.unexpected(Fault::Syntax));
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
                _ => return Err(self.unexpected(Fault::Syntax)),
            }
        }
    }

    /// Takes a list; `item` is called before each item and takes it.
    ///
    /// # Errors
    /// If it is none, and whatever `item` returns.
    pub fn list(&mut self, mut item: impl FnMut(&mut Self) -> Result<(), Error>) -> Result<(), Error> {
        self.items(&mut item)
    }

    fn items(&mut self, item: &mut Item<'_, 'a>) -> Result<(), Error> {
        if self.peek() != b'[' {
            return Err(self.unexpected(Fault::Expected("a list")));
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
                _ => return Err(self.unexpected(Fault::Syntax)),
            }
        }
    }

    /// Counts a value that is going to be kept.
    pub(super) fn keep(&mut self) -> Result<(), Error> {
        self.kept += 1;
        if self.kept > MAX_VALUES {
            return Err(self.error(Fault::Values));
        }
        Ok(())
    }

    fn enter(&mut self) -> Result<(), Error> {
        if self.depth == MAX_DEPTH {
            return Err(self.error(Fault::Depth));
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    fn leave(&mut self) {
        self.depth -= 1;
        self.at += 1;
    }

    /// Takes a string; borrowed unless something in it is escaped.
    ///
    /// # Errors
    /// If it is none.
    #[inline]
    pub fn string(&mut self) -> Result<Cow<'a, str>, Error> {
        if self.peek() != b'"' {
            return Err(self.unexpected(Fault::Expected("a string")));
        }
        let start = self.at + 1;
        let string = skip::string(self.text.as_bytes(), self.at)?;
        self.at = string.end;
        let inside = self.text.get(start..string.end - 1).unwrap_or_default();
        if string.escaped {
            return escape::read(inside).map(Cow::Owned).ok_or(Error {
                fault: Fault::Syntax,
                at: start,
            });
        }
        Ok(Cow::Borrowed(inside))
    }

    /// Takes `true` or `false`.
    ///
    /// # Errors
    /// If it is neither.
    pub fn bool(&mut self) -> Result<bool, Error> {
        match self.peek() {
            b't' => self.skip().map(|()| true),
            b'f' => self.skip().map(|()| false),
            _ => Err(self.unexpected(Fault::Expected("true or false"))),
        }
    }

    /// Takes a whole number that an i64 holds.
    ///
    /// # Errors
    /// If it is none.
    pub fn integer(&mut self) -> Result<i64, Error> {
        let place = self.place();
        let error = self.unexpected(Fault::Expected("a whole number"));
        self.raw()?.parse().map_err(|_| Error { at: place, ..error })
    }
}

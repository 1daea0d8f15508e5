//! Why and where a text is not valid.

use std::fmt;

/// A fault in a text, and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// The fault.
    pub fault: ErrorKind,
    /// The offset in bytes.
    pub at: usize,
}

/// What is wrong with a text. No variant contains the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The text is not JSON.
    Syntax,
    /// The text ends too early.
    End,
    /// The nesting is deeper than [`MAX_DEPTH`](super::MAX_DEPTH).
    Depth,
    /// The text has more than [`MAX_VALUES`](super::MAX_VALUES) values to keep.
    Values,
    /// An object has a key twice.
    Duplicate,
    /// A value has another type than this one.
    Expected(&'static str),
    /// This field is missing.
    Missing(&'static str),
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax => f.write_str("expected JSON, but found something else"),
            Self::End => f.write_str("expected more, but found the end"),
            Self::Depth => f.write_str("expected JSON nested at most 128 deep, but found it deeper"),
            Self::Values => f.write_str("expected at most 4096 values, but found more"),
            Self::Duplicate => f.write_str("expected each key once, but found one twice"),
            Self::Expected(what) => {
                f.write_str("expected ")?;
                f.write_str(what)?;
                f.write_str(", but found something else")
            }
            Self::Missing(field) => {
                f.write_str("expected ")?;
                f.write_str(field)?;
                f.write_str(", but found nothing")
            }
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.fault, self.at)
    }
}

impl std::error::Error for Error {}

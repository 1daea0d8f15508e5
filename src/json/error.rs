//! Why a text is not what was asked for, and where.

use std::fmt;

/// What is wrong with a text, and where in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// What is wrong.
    pub fault: Fault,
    /// At which byte, from 0.
    pub at: usize,
}

/// What can be wrong with a text. None of it shows the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is not JSON.
    Syntax,
    /// It ends too early.
    End,
    /// It is nested deeper than [`MAX_DEPTH`](super::MAX_DEPTH).
    Depth,
    /// It holds more than [`MAX_VALUES`](super::MAX_VALUES) values, and they would have to be kept.
    Values,
    /// A key stands twice in one object.
    Duplicate,
    /// Another type than this one was found.
    Expected(&'static str),
    /// This field is not there.
    Missing(&'static str),
}

impl fmt::Display for Fault {
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

//! Choices from the bytes of the fuzzer.
//!
//! The crate `arbitrary` is not used: its next release might change the meaning of committed inputs.

use crate::generated::choices::Choices;

/// One or two bytes for each choice; the simplest choice when no bytes are left.
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> usize {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                usize::from(*first)
            }
            None => 0,
        }
    }
}

impl Choices for Bytes<'_> {
    fn below(&mut self, end: usize) -> usize {
        let first = self.next();
        let number = if end > 256 { first << 8 | self.next() } else { first };
        number % end
    }
}

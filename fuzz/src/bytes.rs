//! Choices out of the fuzzer's bytes.
//!
//! Not the crate `arbitrary`: what a committed input means must not change with somebody else's release.

use crate::generated::choices::Choices;

/// One byte, or two, for each choice; the plainest choice when there are none left.
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

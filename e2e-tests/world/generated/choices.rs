//! The choices of a generator: from a seed in the tests, from the fuzzer's bytes in `fuzz/`.

/// A source of choices.
///
/// Choice 0 is always the plainest one. An exhausted source returns only 0, and so ends every list.
pub(crate) trait Choices {
    /// A number below `end`, which is not 0.
    fn below(&mut self, end: usize) -> usize;
}

impl dyn Choices + '_ {
    /// One of the items.
    pub(crate) fn pick<'t, T>(&mut self, items: &'t [T]) -> &'t T {
        &items[self.below(items.len())]
    }

    /// One of the words.
    pub(crate) fn word(&mut self, words: &[&'static str]) -> &'static str {
        words[self.below(words.len())]
    }

    /// True once in `number` times; never from an exhausted source.
    pub(crate) fn one_in(&mut self, number: usize) -> bool {
        self.below(number) + 1 == number
    }
}

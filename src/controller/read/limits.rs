//! The number of objects of a page, so that a page has few bytes.

/// The most bytes of a page with several objects. An object is at most 1.5 MB in etcd by default, and 9 MB as JSON, in
/// which `<` is `\u003c`.
pub(super) const PAGE: usize = 4 << 20;

/// The most bytes of one object.
pub(super) const OBJECT: usize = 16 << 20;

/// A page with this limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Page {
    /// It has this many bytes.
    Read {
        /// The length.
        bytes: usize,
    },
    /// It has more bytes than [`most`].
    TooLarge,
}

/// The most bytes of a page with this limit.
pub(super) const fn most(limit: u32) -> usize {
    if limit > 1 { PAGE } else { OBJECT }
}

/// The limit of the next page: few large objects, or as many small ones as were asked for.
pub(super) fn next(limit: u32, asked: u32, page: Page) -> u32 {
    match page {
        Page::TooLarge => (limit / 4).max(1),
        Page::Read { bytes } if bytes <= PAGE / 4 => limit.saturating_mul(2).min(asked),
        Page::Read { .. } => limit.min(asked),
    }
}

#[cfg(test)]
mod tests {
    use super::{OBJECT, PAGE, Page, most, next};

    #[test]
    fn limit_follows_the_bytes_of_pages() {
        let read = |bytes| Page::Read { bytes };
        for (limit, asked, page, expected) in [
            (100, 100, Page::TooLarge, 25),
            (25, 100, Page::TooLarge, 6),
            (6, 100, Page::TooLarge, 1),
            (3, 100, Page::TooLarge, 1),
            (1, 100, Page::TooLarge, 1),
            (100, 100, read(0), 100),
            (100, 100, read(PAGE), 100),
            (1, 100, read(PAGE / 4), 2),
            (64, 100, read(PAGE / 4), 100),
            (1, 100, read(PAGE / 4 + 1), 1),
            (1, 100, read(OBJECT), 1),
            (2, 1, read(PAGE), 1),
        ] {
            assert_eq!(next(limit, asked, page), expected, "{limit} of {asked}: {page:?}");
        }
        assert_eq!([1, 2, 100].map(most), [OBJECT, PAGE, PAGE]);
    }
}

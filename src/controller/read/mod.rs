//! Reads of the API whose memory is bounded, whatever the objects are. Nobody's objects are trusted to be small or
//! to decode.
//!
//! | file | holds |
//! |---|---|
//! | `limits` | the number of objects of the next page |
//! | `bodies` | bodies of responses, bounded in bytes, and few large ones at a time |
//! | `pages` | the layer of the client that asks for pages, and skips an object that is too large |
//! | `lists` | a list, page by page |
//! | `item`, `unread` | an object or the name of one that cannot be read, and those of a watch |
//! | `patience` | how long an answer is awaited |
//! | `metadata`, `managers` | the metadata of any object, and who wrote which field |

mod bodies;
pub(crate) mod item;
mod limits;
pub(super) mod lists;
pub(super) mod managers;
pub(crate) mod metadata;
pub(super) mod pages;
pub(super) mod patience;
pub(super) mod unread;

//! JSON as this project reads and writes it: strict going in, canonical coming out.
//!
//! A reader of our own, because an admission request is read in the time of a request, in a guest whose size is part
//! of what users install: it skips what nobody asks for, borrows what it can, and refuses what is ambiguous. No floats,
//! no recursion while skipping, nesting bounded everywhere.

mod edit;
mod error;
mod escape;
mod like;
mod map;
mod read;
#[cfg(any(test, not(target_family = "wasm")))]
mod serde;
mod skip;
mod special;
mod value;
mod write;

pub use edit::with_member;
pub use error::{Error, Fault};
pub use like::same;
pub use map::Map;
pub use read::{Once, Reader};
pub use value::{Number, Value, read};
pub use write::{Members, canonical, write_string};

/// The deepest nesting that is read, that of serde_json and so of policy-server.
pub const MAX_DEPTH: u32 = 128;

/// The most values that are kept of one text. A value takes ten times the memory of its shortest text, so without a bound
/// a small text could take a lot; and no record holds a tenth of this many.
pub const MAX_VALUES: u32 = 4096;

// Native only: the runner for wasm has no proptest, and would not run them anyway.
#[cfg(all(test, not(target_family = "wasm")))]
#[path = "json_tests.rs"]
mod tests;

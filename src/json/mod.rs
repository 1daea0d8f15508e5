//! Strict JSON input and canonical JSON output.
//!
//! The policy reads each admission request with this reader, and users download its code as a part of the policy. So
//! the reader skips unused members, borrows strings, and returns errors for ambiguous texts. It has no floats, does not
//! recurse while skipping, and limits the nesting.
//!
//! It is our own because of `make bench`, which builds a guest with the same decision, kubewarden-policy-sdk, serde_json
//! and the types of k8s-openapi. The policy answers a request of 15 KB ten times as fast if no template changes, and
//! seven times as fast if a change is staged. It has a quarter of the bytes, and a host compiles it more than 20 times as
//! fast. docs/kubewarden.md has the figures.

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

pub use edit::{member, with_member, write_key};
pub use error::{Error, ErrorKind};
pub use map::Map;
pub use read::{Once, Reader};
pub use value::{Number, Value, read};
pub use write::{Members, canonical, write_string};

/// The deepest nesting, as in serde_json and so in policy-server.
pub const MAX_DEPTH: u32 = 128;

/// The most values that are kept of one text. A value takes ten times the memory of its shortest text, so this bounds
/// the memory of a small text. A staged change has less than a tenth of this many.
pub const MAX_VALUES: u32 = 4096;

// Native only: the test runner for wasm has no proptest.
#[cfg(all(test, not(target_family = "wasm")))]
#[path = "json_tests.rs"]
mod tests;

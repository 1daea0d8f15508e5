//! Where the files of the repository are.

use std::path::Path;

/// The folder of README.md.
pub(crate) fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

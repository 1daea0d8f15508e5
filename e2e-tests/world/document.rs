//! Reads the documents of the repository.

use anyhow::Context as _;

use crate::world::repository::root;

/// A document of the repository.
pub(crate) fn text(file: &str) -> anyhow::Result<String> {
    let path = root().join(file);
    std::fs::read_to_string(path).with_context(|| file.to_owned())
}

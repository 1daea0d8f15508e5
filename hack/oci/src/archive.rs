//! Archives without any data that depends on the machine or the day: equal files make equal bytes.

use std::io::Write as _;

use anyhow::Context as _;
use flate2::{Compression, GzBuilder};

/// A file of an archive.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) path: String,
    pub(crate) mode: u32,
    pub(crate) content: Vec<u8>,
}

impl Entry {
    /// A file that everybody may read.
    pub(crate) fn file(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        Self {
            path: path.into(),
            mode: 0o644,
            content: content.into(),
        }
    }

    /// A file that everybody may execute.
    pub(crate) fn program(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        Self {
            mode: 0o755,
            ..Self::file(path, content)
        }
    }
}

/// A tar archive of these files in the order of their paths, all of `epoch`.
pub(crate) fn tar(mut entries: Vec<Entry>, epoch: u64) -> anyhow::Result<Vec<u8>> {
    entries.sort_by(|one, other| one.path.cmp(&other.path));
    let mut archive = tar::Builder::new(Vec::new());
    for entry in entries {
        let mut header = tar::Header::new_gnu();
        header.set_size(u64::try_from(entry.content.len())?);
        header.set_mode(entry.mode);
        header.set_mtime(epoch);
        archive
            .append_data(&mut header, &entry.path, entry.content.as_slice())
            .with_context(|| entry.path.clone())?;
    }
    Ok(archive.into_inner()?)
}

/// The bytes, compressed, without a date or a name.
pub(crate) fn gzip(bytes: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut encoder = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?)
}

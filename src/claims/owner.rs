//! Owners of an object.

use crate::json::{self, Once, Reader};

/// One entry of `metadata.ownerReferences`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    /// `apiVersion`
    pub api_version: String,
    /// `kind`
    pub kind: String,
    /// `name`
    pub name: String,
    /// `uid`
    pub uid: String,
    /// `controller`
    pub controller: bool,
    /// `blockOwnerDeletion`
    pub block_owner_deletion: bool,
}

impl Owner {
    /// The API group of the kind; empty for the core group.
    #[must_use]
    pub fn group(&self) -> &str {
        self.api_version.rsplit_once('/').map_or("", |(group, _)| group)
    }

    /// Reads one entry.
    ///
    /// # Errors
    /// [`json::Error`] if it is none.
    pub fn read(reader: &mut Reader<'_>) -> Result<Self, json::Error> {
        let mut owner = Self::default();
        let mut once = Once::default();
        reader.object(|reader, key| {
            match &*key {
                "apiVersion" => owner.api_version = once.text(0, reader)?.into_owned(),
                "kind" => owner.kind = once.text(1, reader)?.into_owned(),
                "name" => owner.name = once.text(2, reader)?.into_owned(),
                "uid" => owner.uid = once.text(3, reader)?.into_owned(),
                "controller" => {
                    once.mark(4, reader)?;
                    owner.controller = !reader.null()? && reader.bool()?;
                }
                "blockOwnerDeletion" => {
                    once.mark(5, reader)?;
                    owner.block_owner_deletion = !reader.null()? && reader.bool()?;
                }
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        Ok(owner)
    }
}

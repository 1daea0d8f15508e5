//! A claim as it was read.

use super::progress::{Modify, Resize};
use super::retention::OwnerRef;
use crate::json::{Error, Once, Reader};
use crate::templates::{ClaimTemplate, Quantity, TemplateError};

/// A PersistentVolumeClaim.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Its name, labels and spec, in the words of a template.
    pub asks: ClaimTemplate,
    /// `metadata.uid`
    pub uid: String,
    /// `metadata.deletionTimestamp` is set.
    pub terminating: bool,
    /// `metadata.ownerReferences`
    pub owners: Vec<Owner>,
    /// `status.phase` is `Bound`.
    pub bound: bool,
    /// `status.capacity.storage`
    pub capacity: Option<Quantity>,
    /// `status.currentVolumeAttributesClassName`
    pub current_class: Option<String>,
    /// `status.allocatedResourceStatuses.storage`
    pub resize: Option<Resize>,
    /// `status.modifyVolumeStatus.status`
    pub modify: Option<Modify>,
    /// The conditions that are true: their types and messages.
    pub conditions: Vec<(String, String)>,
}

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

/// Why a text is no claim.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClaimError {
    /// Its spec cannot be read.
    #[error(transparent)]
    Spec(#[from] TemplateError),
    /// Something else cannot.
    #[error(transparent)]
    Json(#[from] Error),
}

impl Claim {
    /// Reads the JSON text of a PersistentVolumeClaim.
    ///
    /// # Errors
    /// [`ClaimError`] if it is none.
    pub fn read(text: &str) -> Result<Self, ClaimError> {
        let mut claim = Self {
            asks: ClaimTemplate::read(text)?,
            uid: String::new(),
            terminating: false,
            owners: Vec::new(),
            bound: false,
            capacity: None,
            current_class: None,
            resize: None,
            modify: None,
            conditions: Vec::new(),
        };
        let mut reader = Reader::new(text);
        reader.object(|reader, key| match &*key {
            "metadata" => claim.read_metadata(reader),
            "status" => claim.read_status(reader),
            _ => reader.skip(),
        })?;
        Ok(claim)
    }

    fn read_metadata(&mut self, reader: &mut Reader<'_>) -> Result<(), Error> {
        reader.object(|reader, key| {
            match &*key {
                "uid" => self.uid = reader.string()?.into_owned(),
                "deletionTimestamp" => self.terminating = !reader.null()? && reader.skip().is_ok(),
                "ownerReferences" if !reader.null()? => reader.list(|reader| {
                    self.owners.push(Owner::read(reader)?);
                    Ok(())
                })?,
                "ownerReferences" => {}
                _ => reader.skip()?,
            }
            Ok(())
        })
    }

    fn read_status(&mut self, reader: &mut Reader<'_>) -> Result<(), Error> {
        if reader.null()? {
            return Ok(());
        }
        reader.object(|reader, key| {
            match &*key {
                "phase" => self.bound = reader.string()? == "Bound",
                "capacity" => self.capacity = member(reader, "storage")?.and_then(|text| text.parse().ok()),
                "currentVolumeAttributesClassName" if !reader.null()? => {
                    self.current_class = Some(reader.string()?.into_owned());
                }
                "allocatedResourceStatuses" => {
                    self.resize = member(reader, "storage")?.and_then(|text| Resize::read(&text));
                }
                "modifyVolumeStatus" => self.modify = member(reader, "status")?.and_then(|text| Modify::read(&text)),
                "conditions" if !reader.null()? => reader.list(|reader| self.read_condition(reader))?,
                "conditions" | "currentVolumeAttributesClassName" => {}
                _ => reader.skip()?,
            }
            Ok(())
        })
    }

    fn read_condition(&mut self, reader: &mut Reader<'_>) -> Result<(), Error> {
        let (mut kind, mut message, mut holds) = (String::new(), String::new(), false);
        reader.object(|reader, key| {
            match &*key {
                "type" => kind = reader.string()?.into_owned(),
                "message" => message = reader.string()?.into_owned(),
                "status" => holds = reader.string()? == "True",
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        if holds {
            self.conditions.push((kind, message));
        }
        Ok(())
    }

    /// The owner that is the claim's controller.
    #[must_use]
    pub fn controller(&self) -> Option<&Owner> {
        self.owners.iter().find(|owner| owner.controller)
    }
}

/// The text of one member of an object; nothing for `null`.
fn member(reader: &mut Reader<'_>, of: &str) -> Result<Option<String>, Error> {
    let mut found = None;
    if reader.null()? {
        return Ok(found);
    }
    reader.object(|reader, key| {
        if key == of {
            found = Some(reader.string()?.into_owned());
            return Ok(());
        }
        reader.skip()
    })?;
    Ok(found)
}

impl Owner {
    /// The same, as the retention policy sees it.
    #[must_use]
    pub fn as_ref(&self) -> OwnerRef<'_> {
        OwnerRef {
            api_version: &self.api_version,
            kind: &self.kind,
            name: &self.name,
            uid: &self.uid,
            controller: self.controller,
            block_owner_deletion: self.block_owner_deletion,
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
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

//! A PersistentVolumeClaim, with the fields that the decisions read.

use std::borrow::Cow;
use std::sync::Arc;

use super::manager::Manager;
use super::owner::Owner;
use super::progress::{Modify, Resize, Trouble};
use super::time;
use crate::json::{self, Map, Reader, Value};
use crate::templates::template::{self, Asks};
use crate::templates::{Quantity, TemplateError, keys};

/// A PersistentVolumeClaim.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Claim {
    /// `metadata.name`
    pub name: String,
    /// `metadata.uid`
    pub uid: String,
    /// `metadata.resourceVersion`
    pub resource_version: String,
    /// `metadata.labels`
    pub labels: Map<String>,
    /// `metadata.ownerReferences`
    pub owners: Vec<Owner>,
    /// `metadata.deletionTimestamp` is set.
    pub terminating: bool,
    /// `metadata.creationTimestamp`, in seconds; 0 in the policy, which reads no time.
    pub created: u64,
    /// `metadata.deletionTimestamp`, in seconds; 0 in the policy, and if no clock shows that time.
    pub deleted: Option<u64>,
    /// `metadata.finalizers`
    pub finalizers: Vec<String>,
    /// The annotation `claim-rollout.io/recreated-for`: we delete the claim for this revision.
    pub recreated_for: Option<String>,
    /// The other fields of `spec`, as in [`ClaimTemplate::spec`](crate::templates::ClaimTemplate).
    pub spec: Arc<Map<Value>>,
    /// The annotation with the storage class.
    pub class_annotation: Option<String>,
    /// `spec.resources.requests.storage`
    pub request: Quantity,
    /// Only our apply requests `spec.resources.requests.storage`: no other field manager owns it.
    pub size_is_ours: bool,
    /// `spec.volumeAttributesClassName`
    pub class: Option<String>,
    /// A previous apply of ours set `spec.volumeAttributesClassName`. An apply without the field would remove it.
    pub class_is_ours: bool,
    /// `status.phase` is `Bound`.
    pub bound: bool,
    /// `status.phase` is `Lost`: the volume of the PVC does not exist any more.
    pub lost: bool,
    /// `status.capacity.storage`
    pub capacity: Option<Quantity>,
    /// `status.currentVolumeAttributesClassName`
    pub current_class: Option<String>,
    /// `status.allocatedResources.storage`: the size that `resize` is about.
    pub allocated: Option<Quantity>,
    /// `status.allocatedResourceStatuses.storage`
    pub resize: Option<Resize>,
    /// `status.modifyVolumeStatus.status`
    pub modify: Option<Modify>,
    /// `status.modifyVolumeStatus.targetVolumeAttributesClassName`: the class that `modify` is about.
    pub modify_class: Option<String>,
    /// The condition `Resizing` is true.
    pub resizing: bool,
    /// The transition time of the condition `FileSystemResizePending` if it is true.
    pub file_system_resize_pending: Option<String>,
    /// The conditions that report an error. They may be out of date.
    pub troubles: Vec<Trouble>,
}

/// Why a text is not a PVC.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClaimError {
    /// The labels or the spec are not valid.
    #[error(transparent)]
    Spec(#[from] TemplateError),
    /// Another field is not valid.
    #[error(transparent)]
    Json(#[from] json::Error),
}

impl Claim {
    /// Reads the JSON text of a PersistentVolumeClaim.
    ///
    /// # Errors
    /// [`ClaimError`] if the text is not a PVC.
    pub fn read(text: &str) -> Result<Self, ClaimError> {
        let mut claim = Self::default();
        let mut spec = None;
        let mut reader = Reader::new(text);
        reader.object(|reader, key| {
            match &*key {
                "metadata" => claim.read_metadata(reader)?,
                "spec" => spec = Some(reader.value()?),
                "status" => claim.read_status(reader)?,
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        if claim.name.is_empty() {
            return Err(template::expected("metadata.name", "a name").into());
        }
        let asks = Asks::read(spec)?;
        claim.request = asks.storage.unwrap_or_default();
        claim.class = asks.volume_attributes_class_name;
        claim.spec = Arc::new(asks.rest);
        Ok(claim)
    }

    fn read_metadata(&mut self, reader: &mut Reader<'_>) -> Result<(), json::Error> {
        reader.object(|reader, key| {
            match &*key {
                "name" => self.name = reader.string()?.into_owned(),
                "uid" => self.uid = reader.string()?.into_owned(),
                "resourceVersion" => self.resource_version = reader.string()?.into_owned(),
                "labels" if !reader.null()? => self.labels = reader.strings()?.map(Cow::into_owned),
                "creationTimestamp" if !reader.null()? => self.created = time::seconds(&reader.string()?),
                "deletionTimestamp" if !reader.null()? => {
                    self.terminating = true;
                    self.deleted = Some(time::seconds(&reader.string()?));
                }
                "finalizers" if !reader.null()? => reader.list(|reader| {
                    self.finalizers.push(reader.string()?.into_owned());
                    Ok(())
                })?,
                "ownerReferences" if !reader.null()? => reader.list(|reader| {
                    self.owners.push(Owner::read(reader)?);
                    Ok(())
                })?,
                "annotations" => {
                    let of = [template::CLASS_ANNOTATION, keys::RECREATED_FOR];
                    [self.class_annotation, self.recreated_for] = members(reader, of)?;
                }
                "managedFields" if !reader.null()? => {
                    let mut managers = Vec::new();
                    reader.list(|reader| {
                        managers.push(Manager::read(reader.raw()?));
                        Ok(())
                    })?;
                    self.managed_by(&managers);
                }
                "labels" | "creationTimestamp" | "deletionTimestamp" | "finalizers" | "ownerReferences"
                | "managedFields" => {}
                _ => reader.skip()?,
            }
            Ok(())
        })
    }

    /// Sets whether size and VolumeAttributesClass come from an apply of ours. A forced apply of another value removes
    /// the previous owners, and an apply of the same value adds an owner. So the size is ours iff nobody else owns it.
    pub fn managed_by(&mut self, managers: &[Manager]) {
        let mut of_size = managers.iter().filter(|manager| manager.size).peekable();
        self.size_is_ours = of_size.peek().is_some() && of_size.all(|manager| manager.is_us);
        self.class_is_ours = managers.iter().any(|manager| manager.is_us && manager.class);
    }

    /// Reads the progress of the storage from the `status`.
    fn read_status(&mut self, reader: &mut Reader<'_>) -> Result<(), json::Error> {
        if reader.null()? {
            return Ok(());
        }
        reader.object(|reader, key| {
            match &*key {
                "phase" => {
                    let phase = reader.string()?;
                    (self.bound, self.lost) = (phase == "Bound", phase == "Lost");
                }
                "capacity" => self.capacity = quantity(reader)?,
                "allocatedResources" => self.allocated = quantity(reader)?,
                "currentVolumeAttributesClassName" if !reader.null()? => {
                    self.current_class = Some(reader.string()?.into_owned());
                }
                "allocatedResourceStatuses" => {
                    let [status] = members(reader, ["storage"])?;
                    self.resize = status.and_then(|text| Resize::read(&text));
                }
                "modifyVolumeStatus" => {
                    let [status, class] = members(reader, ["status", "targetVolumeAttributesClassName"])?;
                    self.modify = status.and_then(|text| Modify::read(&text));
                    self.modify_class = class;
                }
                "conditions" if !reader.null()? => reader.list(|reader| self.read_condition(reader))?,
                "conditions" | "currentVolumeAttributesClassName" => {}
                _ => reader.skip()?,
            }
            Ok(())
        })
    }

    fn read_condition(&mut self, reader: &mut Reader<'_>) -> Result<(), json::Error> {
        let (mut kind, mut message, mut since, mut holds) = (String::new(), String::new(), String::new(), false);
        reader.object(|reader, key| {
            match &*key {
                "type" => kind = reader.string()?.into_owned(),
                "message" => message = reader.string()?.into_owned(),
                "status" => holds = reader.string()? == "True",
                "lastTransitionTime" if !reader.null()? => since = reader.string()?.into_owned(),
                "lastTransitionTime" => {}
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        match &*kind {
            _ if !holds => {}
            "Resizing" => self.resizing = true,
            "FileSystemResizePending" => self.file_system_resize_pending = Some(since),
            kind if Trouble::reports(kind) => {
                let reason = kind.to_owned();
                self.troubles.push(Trouble { reason, message });
            }
            _ => {}
        }
        Ok(())
    }

    /// The owner with `controller: true`.
    #[must_use]
    pub fn controller(&self) -> Option<&Owner> {
        self.owners.iter().find(|owner| owner.controller)
    }

    /// The error of the first of these conditions that reports one.
    #[must_use]
    pub fn trouble(&self, conditions: &[&str]) -> Option<&Trouble> {
        let find = |kind: &&str| self.troubles.iter().find(|trouble| trouble.reason == *kind);
        conditions.iter().find_map(find)
    }

    /// The storage class, if it is not empty.
    #[must_use]
    pub fn storage_class_name(&self) -> Option<&str> {
        let name = template::storage_class_name(self.class_annotation.as_ref(), &self.spec);
        name.filter(|name| !name.is_empty())
    }
}

/// The member `storage` of an object.
fn quantity(reader: &mut Reader<'_>) -> Result<Option<Quantity>, json::Error> {
    let [text] = members(reader, ["storage"])?;
    Ok(text.and_then(|text| text.parse().ok()))
}

/// The texts of these members of an object; none of `null`, in its place or in theirs.
fn members<const N: usize>(reader: &mut Reader<'_>, of: [&str; N]) -> Result<[Option<String>; N], json::Error> {
    let mut found = [const { None }; N];
    if reader.null()? {
        return Ok(found);
    }
    reader.object(|reader, key| {
        let Some(place) = of.iter().position(|of| key == *of) else {
            return reader.skip();
        };
        if !reader.null()? {
            found[place] = Some(reader.string()?.into_owned());
        }
        Ok(())
    })?;
    Ok(found)
}

#[cfg(test)]
#[path = "claim_tests.rs"]
mod tests;

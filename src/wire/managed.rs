//! The entries of `metadata.managedFields`.

use super::object::Read;
use super::review::{Object, Text};
use crate::json::{Once, Reader};

/// An entry of `metadata.managedFields`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ManagedEntry<'a> {
    text: &'a str,
    /// The entry owns `spec.volumeClaimTemplates`.
    pub(crate) owns_templates: bool,
}

impl<'a> Object<'a> {
    /// The entries of this manager, or of all, for one operation on the object itself; `None` if they cannot be decoded.
    pub(crate) fn managed_entries(&self, manager: Option<&str>, of: &str) -> Option<Vec<ManagedEntry<'a>>> {
        let mut found = Vec::new();
        let Some(managed) = self.metadata.managed_fields else {
            return Some(found);
        };
        let mut reader = Reader::new(managed);
        if reader.null().ok()? {
            return Some(found);
        }
        let read = reader.list(|reader| {
            let place = reader.place();
            let [mut name, mut operation, mut subresource] = [(); 3].map(|()| Text::default());
            let mut owns_templates = false;
            let mut once = Once::default();
            reader.object(|reader, key| {
                match &*key {
                    "manager" => name = once.text(0, reader)?,
                    "operation" => operation = once.text(1, reader)?,
                    "subresource" => subresource = once.text(2, reader)?,
                    "fieldsV1" => owns_templates = once.read(3, reader, owns)?,
                    _ => reader.skip()?,
                }
                Ok(())
            })?;
            if manager.is_none_or(|manager| name == manager) && operation == of && subresource.is_empty() {
                let text = reader.since(place);
                found.push(ManagedEntry { text, owns_templates });
            }
            Ok(())
        });
        read.ok().map(|()| found)
    }

    /// The bytes of the object before and after `managedFields`.
    pub(crate) fn without_managed_fields(&self) -> (&'a str, &'a str) {
        let Some(managed) = self.metadata.managed_fields else {
            return (self.text, "");
        };
        let start = managed.as_ptr() as usize - self.text.as_ptr() as usize;
        (&self.text[..start], &self.text[start + managed.len()..])
    }
}

/// Whether a field set contains `f:spec`/`f:volumeClaimTemplates`.
fn owns(reader: &mut Reader<'_>) -> Read<bool> {
    let mut owns = false;
    if reader.null()? {
        return Ok(owns);
    }
    reader.object(|reader, key| {
        if key != "f:spec" {
            return reader.skip();
        }
        reader.object(|reader, key| {
            owns |= key == "f:volumeClaimTemplates";
            reader.skip()
        })
    })?;
    Ok(owns)
}

//! Row U1: is a request that asks for the live templates a request to go back, or an unrelated edit?

use super::asked::take_back_metadata;
use super::object::{Read, read};
use super::review::{Object, Review, Text};
use super::settings::{MetadataOnlyChanges, Settings};
use crate::json::{Once, Reader};
use crate::templates::{ClaimTemplate, Diff, StagedChange, keys};

/// Why a staged change is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// The annotation `withdraw` names its revision.
    Asked,
    /// Client-side apply went back to the live templates.
    ClientSideApply,
    /// Server-side apply did.
    ServerSideApply,
}

impl Reason {
    /// The reason as the audit log has it.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Asked => "annotation",
            Self::ClientSideApply => "client-side apply",
            Self::ServerSideApply => "server-side apply",
        }
    }
}

/// Whether the request, which asks for the live templates, goes back on purpose.
pub(super) fn reason(
    review: &Review<'_>,
    settings: &Settings,
    [old, new]: [&Object<'_>; 2],
    change: &StagedChange,
    live: &[ClaimTemplate],
) -> Option<Reason> {
    let asked = new.metadata.annotations.get(keys::WITHDRAW);
    if asked.is_some_and(|revision| revision == change.revision().as_str()) {
        return Some(Reason::Asked);
    }
    // Where the live templates are what is staged, asking for them takes nothing back.
    if Diff::between(live, &change.templates).is_empty() {
        return None;
    }
    if went_back_client_side(settings, old, new, live) {
        return Some(Reason::ClientSideApply);
    }
    let manager = &*review.options.field_manager;
    let same_manager = !manager.is_empty() && manager == change.manager;
    (same_manager && went_back_server_side(old, new, manager)).then_some(Reason::ServerSideApply)
}

/// What was applied before had other templates; what is applied now has the live ones. Where labels and annotations are
/// ignored they are here, too: a chart that goes back comes with another version in them.
fn went_back_client_side(settings: &Settings, old: &Object<'_>, new: &Object<'_>, live: &[ClaimTemplate]) -> bool {
    let (before, now) = (old.metadata.last_applied, new.metadata.last_applied);
    if before == now {
        return false;
    }
    let is_live = |applied: Option<&str>| {
        let mut templates = applied_templates(applied?)?;
        if settings.metadata_only_changes == MetadataOnlyChanges::Ignore {
            take_back_metadata(live, &mut templates);
        }
        Some(Diff::between(live, &templates).is_empty())
    };
    is_live(before) == Some(false) && is_live(now) == Some(true)
}

/// The templates in a last-applied configuration: a JSON string that holds the manifest.
fn applied_templates(annotation: &str) -> Option<Vec<ClaimTemplate>> {
    let manifest = Reader::new(annotation).string().ok()?;
    let manifest = read(&manifest)?;
    ClaimTemplate::read_list(manifest.spec.templates?).ok()
}

/// The manager's apply owns the templates, so what it applied says live; and the request is an apply of that manager, or
/// changes nothing at all. A plain update under the same name is an unrelated edit.
fn went_back_server_side(old: &Object<'_>, new: &Object<'_>, manager: &str) -> bool {
    let applies = |set| entries(set, manager, "Apply");
    let updates = |set| entries(set, manager, "Update");
    let (Some(applied), Some(updated)) = (applies(new), updates(new)) else {
        return false;
    };
    if !matches!(applied[..], [entry] if entry.owns_templates) {
        return false;
    }
    // What an update changes it owns as an update; an apply leaves that as it was. Entries alone do not tell an apply from
    // none: their time is that of a second, so the next apply within it may leave the same one.
    let is_apply = updated.is_empty()
        || updates(old).as_ref() == Some(&updated) && applies(old).is_some_and(|before| before != applied);
    is_apply || apart_from_managers(old) == apart_from_managers(new)
}

/// An entry of `metadata.managedFields`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Entry<'a> {
    text: &'a str,
    owns_templates: bool,
}

/// The entries of a manager for one kind of operation on the object itself; nothing if they cannot be read.
fn entries<'a>(set: &Object<'a>, manager: &str, of: &str) -> Option<Vec<Entry<'a>>> {
    let mut found = Vec::new();
    let Some(managed) = set.metadata.managed_fields else {
        return Some(found);
    };
    let mut reader = Reader::new(managed);
    if reader.null().ok()? {
        return Some(found);
    }
    let read = reader.list(|reader| {
        let place = reader.place();
        let (mut name, mut operation, mut subresource) = (Text::default(), Text::default(), Text::default());
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
        if name == manager && operation == of && subresource.is_empty() {
            let text = reader.since(place);
            found.push(Entry { text, owns_templates });
        }
        Ok(())
    });
    read.ok().map(|()| found)
}

/// Whether a set of fields has `f:spec`/`f:volumeClaimTemplates`.
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

/// The object before and after its managedFields.
fn apart_from_managers<'a>(set: &Object<'a>) -> (&'a str, &'a str) {
    let Some(managed) = set.metadata.managed_fields else {
        return (set.text, "");
    };
    let start = managed.as_ptr() as usize - set.text.as_ptr() as usize;
    (&set.text[..start], &set.text[start + managed.len()..])
}

//! Row U1: whether a request for the live templates withdraws the staged change or is another edit.

use super::asked::restore_metadata;
use super::object::{Read, read};
use super::review::{Object, Review, Text};
use super::settings::{MetadataOnlyChanges, Settings};
use crate::json::{Once, Reader};
use crate::templates::{ClaimTemplate, Diff, Phase, StagedChange, keys};

/// Why a staged change is withdrawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WithdrawReason {
    /// The annotation `withdraw` names the target revision.
    Asked,
    /// Client-side apply returned to the live templates.
    ClientSideApply,
    /// Server-side apply returned to the live templates.
    ServerSideApply,
}

impl WithdrawReason {
    /// The reason in the audit log.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Asked => "annotation",
            Self::ClientSideApply => "client-side apply",
            Self::ServerSideApply => "server-side apply",
        }
    }
}

/// What a request for the live templates comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Return {
    /// It withdraws the staged change.
    Withdraws(WithdrawReason),
    /// It keeps the staged change, with a warning: its manager may have returned to the live templates.
    Keeps,
    /// It is about something else.
    Unrelated,
}

/// What the request, which asks for the live templates, comes to.
pub(super) fn of(
    review: &Review<'_>,
    settings: &Settings,
    [old, new]: [&Object<'_>; 2],
    change: &StagedChange,
    live: &[ClaimTemplate],
) -> Return {
    let asked = new.metadata.annotations.get(keys::WITHDRAW);
    if asked.is_some_and(|revision| revision == change.revision().as_str()) {
        return Return::Withdraws(WithdrawReason::Asked);
    }
    // If the live templates are staged, a request for them withdraws nothing.
    if Diff::between(live, &change.templates).is_empty() {
        return Return::Unrelated;
    }
    if returned_client_side(settings, old, new, live) {
        return Return::Withdraws(WithdrawReason::ClientSideApply);
    }
    let manager = &*review.options.field_manager;
    if manager.is_empty() || manager != change.manager {
        return Return::Unrelated;
    }
    if returned_server_side(old, new, manager) {
        let is_same = without_managed_fields(old) == without_managed_fields(new);
        return match change.phase {
            _ if is_same && is_converted(old, new) => Return::Unrelated,
            // Nothing can grow any more, and it may be Helm that only puts `managedFields` in order before a rollback.
            Phase::Complete if is_same => Return::Keeps,
            _ => Return::Withdraws(WithdrawReason::ServerSideApply),
        };
    }
    // Helm 3 leaves no trace of going back. kubectl is known by its annotation, or shows its user what is live.
    if old.spec.pod_template == new.spec.pod_template || manager.starts_with("kubectl") {
        Return::Unrelated
    } else {
        Return::Keeps
    }
}

/// True iff the previous apply had other templates, and this apply has the live templates. With `metadataOnlyChanges:
/// Ignore`, labels and annotations do not count: a chart that returns writes another version into them.
fn returned_client_side(settings: &Settings, old: &Object<'_>, new: &Object<'_>, live: &[ClaimTemplate]) -> bool {
    let (before, now) = (old.metadata.last_applied, new.metadata.last_applied);
    if before == now {
        return false;
    }
    let is_live = |applied: Option<&str>| {
        let mut templates = applied_templates(applied?)?;
        if settings.metadata_only_changes == MetadataOnlyChanges::Ignore {
            restore_metadata(live, &mut templates);
        }
        Some(Diff::between(live, &templates).is_empty())
    };
    is_live(before) == Some(false) && is_live(now) == Some(true)
}

/// The templates in a last-applied configuration: a JSON string that contains the manifest.
fn applied_templates(annotation: &str) -> Option<Vec<ClaimTemplate>> {
    let manifest = Reader::new(annotation).string().ok()?;
    let manifest = read(&manifest)?;
    ClaimTemplate::read_list(manifest.spec.templates?).ok()
}

/// True iff the `Apply` entry of the manager owns the templates, so that the manager applied the live templates, and
/// the request is an apply of that manager or changes nothing. A plain update by the same manager is an unrelated edit.
fn returned_server_side(old: &Object<'_>, new: &Object<'_>, manager: &str) -> bool {
    let applies = |set| entries(set, Some(manager), "Apply");
    let updates = |set| entries(set, Some(manager), "Update");
    let (Some(applied), Some(updated)) = (applies(new), updates(new)) else {
        return false;
    };
    let [
        ManagedEntry {
            owns_templates: true, ..
        },
    ] = &applied[..]
    else {
        return false;
    };
    if updated.is_empty() {
        return true;
    }
    // An update changes the `Update` entry of the manager; an apply does not. An unchanged `Apply` entry proves
    // nothing: times are in seconds, so a second apply within one second may leave the same entry.
    let is_apply = updates(old).as_ref() == Some(&updated) && applies(old).is_some_and(|before| before != applied);
    is_apply || without_managed_fields(old) == without_managed_fields(new)
}

/// On the way from client-side to server-side apply, Helm and kubectl turn the `Update` entry into an `Apply` entry, or
/// put it into one. An apply that changes nothing leaves every `Update` entry as it is.
fn is_converted(old: &Object<'_>, new: &Object<'_>) -> bool {
    let updates = |set| entries(set, None, "Update").map(|found| found.len());
    updates(new) < updates(old)
}

/// An entry of `metadata.managedFields`.
#[derive(Clone, Debug, Default, PartialEq)]
struct ManagedEntry<'a> {
    text: &'a str,
    owns_templates: bool,
}

/// The entries of this manager, or of all, for one operation on the object itself; `None` if they cannot be decoded.
fn entries<'a>(set: &Object<'a>, manager: Option<&str>, of: &str) -> Option<Vec<ManagedEntry<'a>>> {
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

/// The bytes of the object before and after `managedFields`.
fn without_managed_fields<'a>(set: &Object<'a>) -> (&'a str, &'a str) {
    let Some(managed) = set.metadata.managed_fields else {
        return (set.text, "");
    };
    let start = managed.as_ptr() as usize - set.text.as_ptr() as usize;
    (&set.text[..start], &set.text[start + managed.len()..])
}

//! Row U1: whether a request for the live templates withdraws the staged change or is another edit.

use super::request_templates::restore_metadata;
use super::settings::{MetadataOnlyChanges, Settings};
use crate::templates::{ClaimTemplate, Diff, Phase, StagedChange, keys};
use crate::wire::{ManagedEntry, Object, Review};

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
pub(super) fn classify(
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
        let is_same = old.without_managed_fields() == new.without_managed_fields();
        return match change.phase {
            _ if old.spec.text == new.spec.text && is_converted(old, new) => {
                if is_same {
                    Return::Unrelated
                } else {
                    Return::Keeps
                }
            }
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
    if old.metadata.last_applied == new.metadata.last_applied {
        return false;
    }
    let is_live = |set: &Object<'_>| {
        let mut templates = set.last_applied_templates()?;
        if settings.metadata_only_changes == MetadataOnlyChanges::Ignore {
            restore_metadata(live, &mut templates);
        }
        Some(Diff::between(live, &templates).is_empty())
    };
    is_live(old) == Some(false) && is_live(new) == Some(true)
}

/// True iff the `Apply` entry of the manager owns the templates, so that the manager applied the live templates, and
/// the request is an apply of that manager or changes nothing. A plain update by the same manager is an unrelated edit.
fn returned_server_side<'a>(old: &Object<'a>, new: &Object<'a>, manager: &str) -> bool {
    let applies = |set: &Object<'a>| set.managed_entries(Some(manager), "Apply");
    let updates = |set: &Object<'a>| set.managed_entries(Some(manager), "Update");
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
    is_apply || old.without_managed_fields() == new.without_managed_fields()
}

/// On the way from client-side to server-side apply, Helm and kubectl turn the `Update` entry into an `Apply` entry, or
/// put it into one. Flux does so before its apply, and removes the annotation that `kubectl apply` has left. An apply that
/// changes nothing leaves every `Update` entry as it is.
fn is_converted<'a>(old: &Object<'a>, new: &Object<'a>) -> bool {
    let updates = |set: &Object<'a>| set.managed_entries(None, "Update").map(|found| found.len());
    updates(new) < updates(old)
}

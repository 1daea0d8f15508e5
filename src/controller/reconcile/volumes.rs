//! Whether Pods of a StatefulSet lack a volume of its templates.
//!
//! The templates of a StatefulSet never change, only those of the next one with its name. So the Pods of each are looked
//! at once: after it was created, or after the controller started. A StatefulSet that is not replaced is never looked
//! at.

use crate::api::settings::TemplateChanges;
use crate::controller::calls::error::ReconcileError;
use crate::controller::objects::set::SlimSet;
use crate::controller::observe::observer::{Observer, Seen};
use crate::rollout::machine::Volumes;
use crate::rollout::missing_volumes;
use crate::templates::keys;

/// Whether a Pod of the set lacks a volume.
pub(crate) fn volumes(observer: &Observer, set: &SlimSet) -> Result<Volumes, ReconcileError> {
    if !asks_for_volumes(observer, set) {
        return Ok(Volumes::Mounted);
    }
    let view = observer.view(set)?;
    if !missing_volumes::is_evicting(&view, &observer.settings) {
        return Ok(Volumes::Mounted);
    }
    let opened = observer.cache.opened(set, &view);
    if !opened.is_ready() {
        return Ok(Volumes::Unread);
    }
    let seen = Seen {
        view: &view,
        opened: Some(&opened),
        halted: None,
    };
    let mut snapshot = observer.observe(set, seen)?;
    if observer.plan(&mut snapshot).lacks {
        return Ok(Volumes::Lacking);
    }
    // While a template is to be added, nothing is evicted.
    if view.replaces_pods() {
        observer.memories.note_mounted(&view.uid);
    }
    // A rollout opens it again; until then, the watch is kept.
    observer.close(set);
    Ok(Volumes::Mounted)
}

/// True iff the Pods of the set have to be read. Until the StatefulSet controller has seen the set, it has adopted
/// none.
fn asks_for_volumes(observer: &Observer, set: &SlimSet) -> bool {
    let metadata = &set.metadata;
    let replace_set = set.annotation(keys::REPLACE_SET).and_then(|text| text.parse().ok());
    observer.settings.template_changes == TemplateChanges::Allow
        && observer.settings.replaces(replace_set)
        && metadata.deletion_timestamp.is_none()
        && Some(set.status.observed_generation) == metadata.generation
        && !observer.memories.is_mounted(set)
}

#[cfg(test)]
#[path = "volumes_tests.rs"]
mod tests;

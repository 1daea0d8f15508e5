//! Whether Pods of a StatefulSet lack a volume of its templates.
//!
//! The templates of a StatefulSet never change, only those of the next one with its name. So the Pods of each are looked
//! at once: after it was created, or after the controller started. A StatefulSet that is not replaced is never looked
//! at.

use kube::ResourceExt;

use super::context::Context;
use super::error::ReconcileError;
use super::locking::lock;
use super::slim_set::SlimSet;
use crate::api::settings::TemplateChanges;
use crate::rollout::lacking;
use crate::rollout::machine::Volumes;
use crate::templates::keys;

impl Context {
    /// Whether a Pod of the set lacks a volume.
    pub(super) fn volumes(&self, set: &SlimSet) -> Result<Volumes, ReconcileError> {
        if !self.asks_for_volumes(set) {
            return Ok(Volumes::Mounted);
        }
        let view = self.view(set)?;
        if !lacking::is_evicting(&view, &self.settings) {
            return Ok(Volumes::Mounted);
        }
        let opened = self.opened(set, &view);
        if !opened.is_ready() {
            return Ok(Volumes::Unread);
        }
        let mut snapshot = self.observe(set, (&view, Some(&opened), None))?;
        if self.plan(&mut snapshot).lacks {
            return Ok(Volumes::Lacking);
        }
        // While a template is to be added, nothing is evicted.
        if view.replaces_pods() {
            lock(&self.mounted).insert(view.uid.clone());
        }
        // A rollout opens it again; until then, the watch is kept.
        self.close(set);
        Ok(Volumes::Mounted)
    }

    /// True iff the Pods of the set have to be read. Until the StatefulSet controller has seen the set, it has adopted
    /// none.
    fn asks_for_volumes(&self, set: &SlimSet) -> bool {
        let metadata = &set.metadata;
        let replace_set = set.annotation(keys::REPLACE_SET).and_then(|text| text.parse().ok());
        self.settings.template_changes == TemplateChanges::Allow
            && self.settings.replaces(replace_set)
            && metadata.deletion_timestamp.is_none()
            && Some(set.status.observed_generation) == metadata.generation
            && !lock(&self.mounted).contains(&set.uid().unwrap_or_default())
    }
}

#[cfg(test)]
#[path = "volumes_tests.rs"]
mod tests;

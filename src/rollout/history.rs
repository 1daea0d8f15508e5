//! The history of revisions: which are kept, and in which format.
//!
//! KEP-4650 puts the templates into the ControllerRevisions of the set. On a stock cluster those belong to the
//! StatefulSet controller, so each target revision is kept in a ControllerRevision of ours. `history` and `undo` read
//! them.

use crate::api::Settings;
use crate::gate::{Idle, SetView, Target};
use crate::json::{Map, Value};
use crate::templates::{ClaimTemplate, Revision, StagedChange};

/// A revision in the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The name of the ControllerRevision.
    pub name: String,
    /// The uid of the ControllerRevision.
    pub uid: String,
    /// The `revision` number of the ControllerRevision: higher numbers were staged later.
    pub number: i64,
    /// The revision of the templates.
    pub revision: Revision,
}

/// One write to the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HistoryStep {
    /// Add the target revision.
    Add {
        /// The number of the new ControllerRevision.
        number: i64,
    },
    /// Give the target revision, which was staged before, the highest number.
    Renumber {
        /// The name of the ControllerRevision.
        name: String,
        /// The uid of the ControllerRevision.
        uid: String,
        /// The new number.
        number: i64,
    },
    /// Delete an old revision.
    Drop {
        /// The name of the ControllerRevision.
        name: String,
        /// The uid of the ControllerRevision.
        uid: String,
    },
}

/// The staged change that belongs into the history: it is rolled out, or new claims get it.
#[must_use]
pub fn target<'a>(set: &'a SetView, settings: &Settings) -> Option<&'a StagedChange> {
    match Target::of(set, settings) {
        Ok(target) => Some(target.change),
        Err(Idle::OnClaimDelete) => set.staged.as_ref(),
        Err(_) => None,
    }
}

/// The writes that make `target` the latest of the history and keep at most `limit` revisions.
///
/// `target`, and the revision `current` of the outdated claims, are kept whatever the limit is. Of the others, the
/// oldest are deleted first.
#[must_use]
pub fn steps(kept: &[Kept], target: &Revision, current: &Revision, limit: usize) -> Vec<HistoryStep> {
    let last = kept.iter().map(|kept| kept.number).max().unwrap_or(0);
    let known = kept.iter().find(|kept| kept.revision == *target);
    let mut steps = Vec::new();
    match known {
        None => steps.push(HistoryStep::Add {
            number: last.saturating_add(1),
        }),
        Some(known) if known.number < last => steps.push(HistoryStep::Renumber {
            name: known.name.clone(),
            uid: known.uid.clone(),
            number: last.saturating_add(1),
        }),
        Some(_) => {}
    }
    let total = kept.len() + usize::from(known.is_none());
    let mut others: Vec<&Kept> = kept
        .iter()
        .filter(|kept| kept.revision != *target && kept.revision != *current)
        .collect();
    others.sort_by_key(|kept| (kept.number, &kept.name));
    let surplus = others.into_iter().take(total.saturating_sub(limit));
    steps.extend(surplus.map(|kept| HistoryStep::Drop {
        name: kept.name.clone(),
        uid: kept.uid.clone(),
    }));
    steps
}

/// The `data` of a ControllerRevision as in KEP-4650: `spec.volumeClaimTemplates`, in canonical form.
#[must_use]
pub fn data(templates: &[ClaimTemplate]) -> Value {
    let templates = Value::Array(templates.iter().map(ClaimTemplate::to_value).collect());
    let object = |key: &str, value| {
        let mut map = Map::default();
        map.insert(key.to_owned(), value);
        Value::Object(map)
    };
    object("spec", object("volumeClaimTemplates", templates))
}

#[cfg(test)]
#[path = "history_tests.rs"]
mod tests;

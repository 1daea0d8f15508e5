//! The history of wishes: which of them are kept, and as what.
//!
//! KEP-4650 puts the templates into the set's ControllerRevisions. On a stock cluster those belong to the StatefulSet
//! controller, so each wish is kept in one of its own; this decides which. It is what `history` and `undo` read.

use super::idle::Idle;
use super::snapshot::SetView;
use super::target::Target;
use crate::api::Settings;
use crate::json::{Map, Value};
use crate::templates::{ClaimTemplate, Revision, StagedChange};

/// A wish that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The name of its ControllerRevision.
    pub name: String,
    /// The uid of its ControllerRevision.
    pub uid: String,
    /// `revision` of its ControllerRevision: the higher, the later it was staged last.
    pub number: i64,
    /// The revision of its templates.
    pub revision: Revision,
}

/// One write to the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Keep the wish under this number.
    Add {
        /// Its number.
        number: i64,
    },
    /// The wish was staged before, and is the latest again.
    Renumber {
        /// The name of its ControllerRevision.
        name: String,
        /// The uid of its ControllerRevision.
        uid: String,
        /// Its new number.
        number: i64,
    },
    /// Keep an old wish no longer.
    Drop {
        /// The name of its ControllerRevision.
        name: String,
        /// The uid of its ControllerRevision.
        uid: String,
    },
}

/// The record whose wish belongs into the history: one that claims are made like, now or when they are born.
#[must_use]
pub fn target<'a>(set: &'a SetView, settings: &Settings) -> Option<&'a StagedChange> {
    match Target::of(set, settings) {
        Ok(target) => Some(target.change),
        Err(Idle::OnClaimDelete) => set.staged.as_ref(),
        Err(_) => None,
    }
}

/// What to write so that `target` is the latest of the history and at most `limit` are kept.
///
/// The wish, and the revision `current` that claims are still at, are kept whatever the limit is; of the others the
/// oldest go first. Nothing if it is so already.
#[must_use]
pub fn steps(kept: &[Kept], target: &Revision, current: &Revision, limit: usize) -> Vec<Step> {
    let last = kept.iter().map(|kept| kept.number).max().unwrap_or(0);
    let known = kept.iter().find(|kept| kept.revision == *target);
    let mut steps = Vec::new();
    match known {
        None => steps.push(Step::Add {
            number: last.saturating_add(1),
        }),
        Some(known) if known.number < last => steps.push(Step::Renumber {
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
    steps.extend(surplus.map(|kept| Step::Drop {
        name: kept.name.clone(),
        uid: kept.uid.clone(),
    }));
    steps
}

/// The `data` of a ControllerRevision, in KEP-4650's shape: `spec.volumeClaimTemplates`, canonical.
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

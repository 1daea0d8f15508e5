//! Which sets are to be replaced, and the replacements in progress.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use kube::ResourceExt;
use kube::runtime::reflector::Store;

use super::cluster::{Cluster, SetName};
use super::place::Places;
use crate::api::{ReplacementPhase, Seconds};
use crate::controller::calls::caller::Caller;
use crate::controller::locking::lock;
use crate::controller::objects::packed_rollout::PackedRollout;
use crate::controller::objects::set::SlimSet;
use crate::controller::objects::set_kind::SetKind;
use crate::controller::watch::streams::RequeueSender;
use crate::replace::Fault;
use crate::templates::{ReplaceSet, keys};

/// The pauses in seconds after a refusal: the first, and the longest.
const PAUSES: (Seconds, Seconds) = (5, 300);

/// The replacements in progress, and those that were refused.
pub(crate) struct Replacements {
    pub(super) cluster: Cluster,
    pub(super) caller: Caller,
    pub(super) sets: Store<SlimSet>,
    pub(super) rollouts: Store<PackedRollout>,
    pub(super) requeue: RequeueSender,
    /// True once the controller stops.
    pub(super) stopping: Arc<AtomicBool>,
    pub(super) places: Places,
    pub(super) states: Mutex<HashMap<SetName, State>>,
    /// The sets that are reconciled now. Only used while `states` is locked.
    reconciled: Mutex<HashSet<SetName>>,
}

/// The state of a set whose replacement was due.
pub(super) enum State {
    /// It waits for a place, or its preconditions are checked.
    Queued,
    /// It is being replaced.
    Running,
    /// It was not replaced.
    Rests(Rest),
}

/// When to try again.
pub(super) struct Rest {
    pub(super) resource_version: String,
    pub(super) attempts: u32,
    pub(super) tried: Seconds,
    pub(super) reported: LastReport,
}

/// What `status.replacement` and the Events report already.
#[derive(Default)]
pub(super) struct LastReport {
    pub(super) phase: Option<ReplacementPhase>,
    pub(super) fault: Option<Fault>,
    pub(super) replicas: Option<i64>,
}

/// Whether a set is to be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    No,
    /// It waits for a place already.
    Queued,
    /// It is being replaced already.
    Runs,
    Now,
    /// After these seconds.
    In(Seconds),
}

impl Replacements {
    pub(crate) fn new(
        cluster: Cluster,
        caller: Caller,
        (sets, rollouts): (Store<SlimSet>, Store<PackedRollout>),
        requeue: RequeueSender,
        stopping: Arc<AtomicBool>,
    ) -> Self {
        Self {
            places: Places::new(cluster.clock, Arc::clone(&caller.metrics)),
            cluster,
            caller,
            sets,
            rollouts,
            requeue,
            stopping,
            states: Mutex::default(),
            reconciled: Mutex::default(),
        }
    }

    /// Forgets sets that do not exist any more. A replacement in progress is not forgotten: its set may be absent.
    pub(crate) fn retain(&self, exists: impl Fn(&str, &str) -> bool) {
        let is_due = |state: &State| matches!(state, State::Queued | State::Running);
        lock(&self.states).retain(|set, state| is_due(state) || exists(&set.namespace, &set.name));
    }

    /// Waits until no replacement executes a step. To be called when all of them are to stop.
    pub(crate) async fn finish(&self) {
        self.places.close().await;
    }

    /// Notes that the set is reconciled, until the return value is dropped. None if it is being replaced.
    pub(super) fn begin_reconcile(&self, set: &SlimSet) -> Option<Reconciles<'_>> {
        let set = name_of(set);
        let states = lock(&self.states);
        if matches!(states.get(&set), Some(State::Running)) {
            return None;
        }
        lock(&self.reconciled).insert(set.clone());
        Some(Reconciles { of: self, set })
    }

    /// Notes that the set is being replaced. Returns false while it is reconciled.
    pub(super) fn begins(&self, set: &SetName) -> bool {
        let mut states = lock(&self.states);
        let is_free = !lock(&self.reconciled).contains(set);
        if is_free {
            states.insert(set.clone(), State::Running);
        }
        is_free
    }

    /// Ends the pause after a refusal.
    pub(crate) fn retry_now(&self, set: &SlimSet) {
        if let Some(State::Rests(rest)) = lock(&self.states).get_mut(&name_of(set)) {
            rest.tried = 0;
        }
    }

    pub(super) fn due(&self, set: &SlimSet, now: Seconds) -> Due {
        let states = lock(&self.states);
        let state = states.get(&name_of(set));
        match state {
            Some(State::Running) => return Due::Runs,
            Some(State::Queued) => return Due::Queued,
            Some(State::Rests(_)) | None => {}
        }
        // A replacement in progress goes on, whatever its user wants now.
        if !set.is_marked && !self.is_asked(set) {
            return Due::No;
        }
        let Some(State::Rests(rest)) = state else {
            return Due::Now;
        };
        // If the clock was set back, it is unknown how long ago that was.
        if rest.tried > now {
            return Due::Now;
        }
        let (first, longest) = PAUSES;
        let is_changed = set.resource_version().as_deref() != Some(&rest.resource_version);
        let pause = (first << rest.attempts.min(10)).min(if is_changed { first } else { longest });
        match rest.tried.saturating_add(pause).checked_sub(now) {
            None | Some(0) => Due::Now,
            Some(left) => Due::In(left.min(longest)),
        }
    }

    /// True iff the set has a complete change, and its user wants its templates live.
    fn is_asked(&self, set: &SlimSet) -> bool {
        let wants = set.annotation(keys::REPLACE_SET).and_then(|text| text.parse().ok());
        wants.unwrap_or(self.cluster.settings.default_replace_set) == ReplaceSet::WhenComplete
            && set.kind == SetKind::Apps
            && set.annotation(keys::STAGED).is_some()
            && set.annotation(keys::PHASE) != Some("RollingOut")
            && set.annotation(keys::PAUSED) != Some("true")
            && set.metadata.deletion_timestamp.is_none()
    }
}

/// A set is reconciled until this is dropped.
pub(crate) struct Reconciles<'a> {
    of: &'a Replacements,
    set: SetName,
}

impl Drop for Reconciles<'_> {
    fn drop(&mut self) {
        lock(&self.of.reconciled).remove(&self.set);
    }
}

pub(super) fn name_of(set: &SlimSet) -> SetName {
    SetName::new(set.namespace().unwrap_or_default(), set.name_any())
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;

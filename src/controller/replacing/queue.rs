//! Which sets are to be replaced, and the replacements in progress.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use futures::channel::mpsc;
use kube::ResourceExt;
use tokio::sync::Semaphore;

use super::super::api_calls::ApiOutcome;
use super::super::context::Context;
use super::super::slim_set::SlimSet;
use super::super::watch::{self, RequeueSender, lock};
use super::cluster::{Cluster, SetName};
use super::run::{Ended, Happened, Kept, Notice, Run};
use super::tell::Told;
use crate::rollout::Seconds;
use crate::templates::{ReplaceSet, keys};

/// The number of replacements at the same time.
const PLACES: u32 = 16;

/// The pauses in seconds after a refusal: the first, and the longest.
const PAUSES: (Seconds, Seconds) = (5, 300);

/// The replacements in progress, and those that were refused.
pub(in super::super) struct Replacements {
    cluster: Cluster,
    requeue: RequeueSender,
    places: Arc<Semaphore>,
    states: Mutex<HashMap<SetName, State>>,
}

/// The state of a set whose replacement was due.
enum State {
    /// It is being replaced.
    Running,
    /// It was not replaced.
    Rests(Rest),
}

/// When to try again.
struct Rest {
    resource_version: String,
    attempts: u32,
    tried: Seconds,
    told: Told,
}

/// Whether a set is to be replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    No,
    /// It is being replaced already.
    Runs,
    Now,
    /// After these seconds.
    In(Seconds),
}

impl Replacements {
    pub(in super::super) fn new(cluster: Cluster, requeue: RequeueSender) -> Self {
        Self {
            cluster,
            requeue,
            places: Arc::new(Semaphore::new(PLACES as usize)),
            states: Mutex::default(),
        }
    }

    /// Forgets sets that do not exist any more. A replacement in progress is not forgotten: its set may be absent.
    pub(in super::super) fn retain(&self, exists: impl Fn(&str, &str) -> bool) {
        lock(&self.states).retain(|set, state| matches!(state, State::Running) || exists(&set.namespace, &set.name));
    }

    /// Waits until no replacement executes a step. To be called when all of them are to stop.
    pub(in super::super) async fn finish(&self) {
        drop(self.places.acquire_many(PLACES).await);
    }

    fn due(&self, set: &SlimSet, now: Seconds) -> Due {
        let states = lock(&self.states);
        let state = states.get(&name_of(set));
        if let Some(State::Running) = state {
            return Due::Runs;
        }
        // A replacement in progress goes on, whatever its user wants now.
        if !set.is_marked && !self.is_asked(set) {
            return Due::No;
        }
        let Some(State::Rests(rest)) = state else {
            return Due::Now;
        };
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
            && set.annotation(keys::STAGED).is_some()
            && set.annotation(keys::PHASE) != Some("RollingOut")
            && set.annotation(keys::PAUSED) != Some("true")
            && set.metadata.deletion_timestamp.is_none()
    }
}

impl Context {
    /// True iff the set is being replaced, so that nothing else must write to it or to its ClaimRollout. Goes on with a
    /// replacement that another controller began.
    pub(in super::super) fn is_being_replaced(self: &Arc<Self>, set: &SlimSet) -> bool {
        match self.replacements.due(set, (self.clock)()) {
            Due::Runs => true,
            _ if set.is_marked => {
                self.start_replacement(name_of(set));
                true
            }
            _ => false,
        }
    }

    /// Begins to replace the set if that is due. Returns after how many seconds it is due otherwise.
    pub(in super::super) fn replace_if_due(self: &Arc<Self>, set: &SlimSet) -> Option<Seconds> {
        match self.replacements.due(set, (self.clock)()) {
            Due::No | Due::Runs => None,
            Due::In(seconds) => Some(seconds),
            Due::Now => {
                self.start_replacement(name_of(set));
                None
            }
        }
    }

    /// Goes on with the replacements whose journals exist. Their sets may be absent.
    pub(in super::super) async fn resume_replacements(self: Arc<Self>, namespace: Option<String>) {
        loop {
            match self.replacements.cluster.journaled().await {
                ApiOutcome::Done(sets) => {
                    let ours = |set: &SetName| namespace.as_ref().is_none_or(|namespace| *namespace == set.namespace);
                    for set in sets.into_iter().filter(ours) {
                        self.start_replacement(set);
                    }
                    return;
                }
                ApiOutcome::Denied { message: why, .. } => {
                    tracing::debug!(why, "journals of replacements cannot be read; none is expected");
                    return;
                }
                other => {
                    tracing::warn!(outcome = ?other, "failed to list the journals of replacements");
                    tokio::time::sleep(Duration::from_secs(5)).await;
                }
            }
        }
    }

    fn start_replacement(self: &Arc<Self>, set: SetName) {
        let before = lock(&self.replacements.states).insert(set.clone(), State::Running);
        let (attempts, told) = match before {
            Some(State::Running) => return,
            Some(State::Rests(rest)) => (rest.attempts, rest.told),
            None => (0, Told::default()),
        };
        let context = Arc::clone(self);
        tokio::spawn(async move { context.replace(set, attempts, told).await });
    }

    async fn replace(&self, set: SetName, attempts: u32, mut told: Told) {
        let replacements = &self.replacements;
        let Ok(_place) = replacements.places.acquire().await else {
            return;
        };
        let (notices, mut noticed) = mpsc::unbounded();
        let running = self.metrics.replacements().begin();
        let run = Run {
            cluster: &replacements.cluster,
            set: &set,
            forced: false,
            stopping: &self.stopping,
            notices: &notices,
            kept: Kept::default(),
        };
        let telling = async {
            while let Some(notice) = noticed.next().await {
                let is_last = matches!(notice.what, Happened::Ended(_));
                self.tell(&set, &mut told, notice).await;
                if is_last {
                    break;
                }
            }
        };
        let replacing = async {
            let (uid, ended) = run.run().await;
            drop(running);
            let what = Happened::Ended(ended.clone());
            // The receiver is next to it.
            let _ = notices.unbounded_send(Notice { uid, what });
            ended
        };
        let (ended, ()) = tokio::join!(replacing, telling);
        self.rest(&set, attempts, told, &ended);
    }

    /// Notes when to try again, and requeues the set.
    fn rest(&self, set: &SetName, attempts: u32, told: Told, ended: &Ended) {
        let seen = self
            .sets
            .get(&kube::runtime::reflector::ObjectRef::new(&set.name).within(&set.namespace));
        let rest = Rest {
            resource_version: seen.and_then(|seen| seen.resource_version()).unwrap_or_default(),
            attempts: match ended {
                Ended::Refused(fault) if fault.reason.is_brief() => 0,
                _ => attempts.saturating_add(1),
            },
            tried: (self.clock)(),
            told,
        };
        let mut states = lock(&self.replacements.states);
        match ended {
            Ended::Replaced | Ended::Stopped => drop(states.remove(set)),
            Ended::Nothing | Ended::Refused(_) | Ended::Foreign(_) => {
                states.insert(set.clone(), State::Rests(rest));
            }
        }
        drop(states);
        watch::send(&self.replacements.requeue, &set.namespace, &set.name);
    }
}

fn name_of(set: &SlimSet) -> SetName {
    SetName::new(set.namespace().unwrap_or_default(), set.name_any())
}

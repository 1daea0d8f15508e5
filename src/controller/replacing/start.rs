//! Starts replacements, and goes on with those that another controller began.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::channel::mpsc;
use kube::ResourceExt;

use super::cluster::{SetName, allows};
use super::place::{Begins, RunPlace};
use super::queue::{Due, LastReport, Reconciles, Replacements, Rest, State, name_of};
use super::run::{Run, notice};
use crate::api::{ApiOutcome, Seconds};
use crate::controller::locking::lock;
use crate::controller::objects::set::SlimSet;
use crate::controller::watch::streams;
use crate::replace::{Ended, Happened, Machine, MachineKind, Stage, StartFrom};

/// The pause before the journals are listed again, while the right to do that is missing.
const RIGHTS_RECHECK: Duration = Duration::from_secs(300);

/// The pause after a list of the journals that failed.
const AFTER_FAILURE: Duration = Duration::from_secs(5);

impl Replacements {
    /// Notes that the set is reconciled, until the return value is dropped. None if it is being replaced, so that
    /// nothing else must write to it or to its ClaimRollout; a replacement that another controller began goes on.
    pub(crate) fn reconciles(self: &Arc<Self>, set: &SlimSet) -> Option<Reconciles<'_>> {
        if set.is_marked {
            self.start(name_of(set), StartFrom::Begun);
            return None;
        }
        self.begin_reconcile(set)
    }

    /// Begins to replace the set if that is due. Returns after how many seconds it is due otherwise.
    pub(crate) fn replace_if_due(self: &Arc<Self>, set: &SlimSet) -> Option<Seconds> {
        match self.due(set, self.caller.now()) {
            Due::No | Due::Queued | Due::Runs => None,
            Due::In(seconds) => Some(seconds),
            Due::Now => {
                self.start(name_of(set), StartFrom::Nothing);
                None
            }
        }
    }

    /// Goes on with the replacements whose journals exist. Their sets may be absent.
    pub(crate) async fn resume(self: Arc<Self>, namespace: Option<String>) {
        while let Some(pause) = self.resume_once(namespace.as_deref()).await {
            tokio::time::sleep(pause).await;
        }
    }

    /// The same, if the journals can be listed. Otherwise returns after which pause to try again: the rights may come later,
    /// and an absent set makes nobody ask for them.
    async fn resume_once(self: &Arc<Self>, namespace: Option<&str>) -> Option<Duration> {
        match self.cluster.journaled().await {
            ApiOutcome::Done(sets) => {
                let ours = |set: &SetName| namespace.is_none_or(|namespace| *namespace == set.namespace);
                for (set, stage) in sets.into_iter().filter(|(set, _)| ours(set)) {
                    let from = if stage == Stage::Releasing {
                        StartFrom::Absent
                    } else {
                        StartFrom::Begun
                    };
                    self.start(set, from);
                }
                None
            }
            ApiOutcome::Denied { message: why, .. } => {
                tracing::debug!(why, "journals of replacements cannot be read; none is expected");
                Some(RIGHTS_RECHECK)
            }
            other => {
                tracing::warn!(outcome = ?other, "failed to list the journals of replacements");
                Some(AFTER_FAILURE)
            }
        }
    }

    fn start(self: &Arc<Self>, set: SetName, from: StartFrom) {
        let mut states = lock(&self.states);
        let (attempts, reported) = match states.remove(&set) {
            Some(before @ (State::Queued | State::Running)) => {
                states.insert(set, before);
                return;
            }
            Some(State::Rests(rest)) => (rest.attempts, rest.reported),
            None => (0, LastReport::default()),
        };
        let state = if from == StartFrom::Nothing {
            State::Queued
        } else {
            State::Running
        };
        states.insert(set.clone(), state);
        drop(states);
        let replacements = Arc::clone(self);
        tokio::spawn(async move { replacements.replace(set, from, attempts, reported).await });
    }

    async fn replace(&self, set: SetName, from: StartFrom, attempts: u32, mut reported: LastReport) {
        // Another controller may have reported them.
        reported.replicas = self.reported_replicas(&set);
        let (notices, mut noticed) = mpsc::unbounded();
        let begins = || Box::new(|| self.begins(&set)) as Begins<'_>;
        let begins = (from == StartFrom::Nothing).then(begins);
        let (settings, kind) = (&self.cluster.settings, MachineKind::Controller);
        let run = Run {
            cluster: &self.cluster,
            set: &set,
            stopping: &self.stopping,
            notices: &notices,
            place: RunPlace::of(&self.places, &set, begins),
            machine: Machine::new(settings, allows, kind, from),
        };
        let notifying = async {
            while let Some(next) = noticed.next().await {
                let is_last = matches!(next.what, Happened::Ended(_));
                self.notify(&set, &mut reported, next).await;
                if is_last {
                    break;
                }
            }
        };
        let replacing = async {
            let (uid, ended) = run.run().await;
            let what = Happened::Ended(ended.clone());
            // The receiver is next to it.
            let _ = notices.unbounded_send(notice(uid, what));
            ended
        };
        let (ended, ()) = tokio::join!(replacing, notifying);
        self.rest(&set, attempts, reported, &ended);
    }

    /// Notes when to try again, and requeues the set.
    fn rest(&self, set: &SetName, attempts: u32, reported: LastReport, ended: &Ended) {
        let seen = self
            .sets
            .get(&kube::runtime::reflector::ObjectRef::new(&set.name).within(&set.namespace));
        let rest = Rest {
            resource_version: seen.and_then(|seen| seen.resource_version()).unwrap_or_default(),
            attempts: match ended {
                Ended::Refused(fault) if fault.reason.is_brief() => 0,
                _ => attempts.saturating_add(1),
            },
            tried: self.caller.now(),
            reported,
        };
        let mut states = lock(&self.states);
        match ended {
            Ended::Replaced | Ended::Absent(_) | Ended::Stopped => drop(states.remove(set)),
            Ended::Nothing | Ended::Refused(_) | Ended::Foreign(_) => {
                states.insert(set.clone(), State::Rests(rest));
            }
        }
        drop(states);
        streams::send(&self.requeue, &set.namespace, &set.name);
    }
}

#[cfg(test)]
#[path = "start_tests.rs"]
mod tests;

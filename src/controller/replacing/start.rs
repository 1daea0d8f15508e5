//! Starts replacements, and goes on with those that another controller began.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::channel::mpsc;
use kube::ResourceExt;

use super::super::api_calls::ApiOutcome;
use super::super::context::Context;
use super::super::locking::lock;
use super::super::slim_set::SlimSet;
use super::super::watch;
use super::cluster::{SetName, allows};
use super::place::{Begins, RunPlace};
use super::queue::{Due, LastReport, Reconciles, Rest, State, name_of};
use super::run::Run;
use crate::api::Seconds;
use crate::replace::{Ended, Happened, Machine, MachineKind, Notice, Stage, StartFrom};

impl Context {
    /// Notes that the set is reconciled, until the return value is dropped. None if it is being replaced, so that
    /// nothing else must write to it or to its ClaimRollout; a replacement that another controller began goes on.
    pub(in super::super) fn reconciles(self: &Arc<Self>, set: &SlimSet) -> Option<Reconciles<'_>> {
        if set.is_marked {
            self.start_replacement(name_of(set), StartFrom::Begun);
            return None;
        }
        self.replacements.reconciles(set)
    }

    /// Begins to replace the set if that is due. Returns after how many seconds it is due otherwise.
    pub(in super::super) fn replace_if_due(self: &Arc<Self>, set: &SlimSet) -> Option<Seconds> {
        match self.replacements.due(set, (self.clock)()) {
            Due::No | Due::Queued | Due::Runs => None,
            Due::In(seconds) => Some(seconds),
            Due::Now => {
                self.start_replacement(name_of(set), StartFrom::Nothing);
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
                    for (set, stage) in sets.into_iter().filter(|(set, _)| ours(set)) {
                        let from = if stage == Stage::Releasing {
                            StartFrom::Absent
                        } else {
                            StartFrom::Begun
                        };
                        self.start_replacement(set, from);
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

    fn start_replacement(self: &Arc<Self>, set: SetName, from: StartFrom) {
        let mut states = lock(&self.replacements.states);
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
        let context = Arc::clone(self);
        tokio::spawn(async move { context.replace(set, from, attempts, reported).await });
    }

    async fn replace(&self, set: SetName, from: StartFrom, attempts: u32, mut reported: LastReport) {
        let replacements = &self.replacements;
        // Another controller may have reported them.
        reported.replicas = self.reported_replicas(&set);
        let (notices, mut noticed) = mpsc::unbounded();
        let begins = || Box::new(|| replacements.begins(&set)) as Begins<'_>;
        let begins = (from == StartFrom::Nothing).then(begins);
        let (settings, kind) = (&replacements.cluster.settings, MachineKind::Controller);
        let run = Run {
            cluster: &replacements.cluster,
            set: &set,
            stopping: &self.stopping,
            notices: &notices,
            place: RunPlace::of(&replacements.places, &set, begins),
            machine: Machine::new(settings, allows, kind, from),
        };
        let notifying = async {
            while let Some(notice) = noticed.next().await {
                let is_last = matches!(notice.what, Happened::Ended(_));
                self.notify(&set, &mut reported, notice).await;
                if is_last {
                    break;
                }
            }
        };
        let replacing = async {
            let (uid, ended) = run.run().await;
            let what = Happened::Ended(ended.clone());
            // The receiver is next to it.
            let _ = notices.unbounded_send(Notice {
                uid,
                replicas: None,
                is_absent: false,
                what,
            });
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
            tried: (self.clock)(),
            reported,
        };
        let mut states = lock(&self.replacements.states);
        match ended {
            Ended::Replaced | Ended::Absent(_) | Ended::Stopped => drop(states.remove(set)),
            Ended::Nothing | Ended::Refused(_) | Ended::Foreign(_) => {
                states.insert(set.clone(), State::Rests(rest));
            }
        }
        drop(states);
        watch::send(&self.replacements.requeue, &set.namespace, &set.name);
    }
}

#[cfg(test)]
#[path = "start_tests.rs"]
mod tests;

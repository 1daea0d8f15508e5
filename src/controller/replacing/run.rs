//! Runs one replacement: reads, writes and waits as it asks for, and sends on what it reports.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::channel::mpsc::UnboundedSender;
use tokio::time::{Instant, sleep_until};

use super::cluster::{Cluster, SetName};
use super::place::RunPlace;
use super::steps::write_of;
use crate::replace::{Ended, Happened, Machine, Millis, Notice, PauseCause, ReplaceTask, Step};

/// How often a pause checks whether the controller stops.
const POLL: Duration = Duration::from_millis(200);

/// A replacement in progress.
pub(super) struct Run<'a> {
    pub(super) cluster: &'a Cluster,
    pub(super) set: &'a SetName,
    pub(super) stopping: &'a AtomicBool,
    pub(super) notices: &'a UnboundedSender<Notice>,
    pub(super) place: RunPlace<'a>,
    pub(super) machine: Machine<'a>,
}

impl<'a> Run<'a> {
    /// Runs until the replacement has ended. Returns the uid of the set that exists then.
    pub(super) async fn run(mut self) -> (Option<String>, Ended) {
        let (cluster, set) = (self.cluster, self.set);
        loop {
            if self.machine.is_between_rounds() {
                self.take_place().await;
            }
            let task = self.machine.next((cluster.clock)(), self.is_stopping());
            self.send();
            match task {
                ReplaceTask::Observe => {
                    let read = cluster.look(set).await;
                    self.hand(read, Machine::observed);
                }
                ReplaceTask::ObserveSet => {
                    let read = cluster.read(set).await;
                    self.hand(read, Machine::observed_set);
                }
                ReplaceTask::Fill(mut world, part) => {
                    let read = cluster.fill(set, &mut world, part).await;
                    self.hand(read.map(|()| world), Machine::filled);
                }
                ReplaceTask::Write(step) => self.write(&step).await,
                ReplaceTask::Pause(millis, cause) => self.pause(millis, &cause).await,
                ReplaceTask::End(uid, ended) => return (uid, ended),
            }
        }
    }

    fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire)
    }

    /// Waits for a place.
    async fn take_place(&mut self) {
        let (begun, is_absent) = (self.machine.has_begun(), self.machine.is_absent());
        let waits = |fault| send(self.notices, notice(None, Happened::Waits(fault)));
        self.place.take(begun, is_absent, waits).await;
    }

    fn hand<T>(&mut self, read: Result<T, String>, hand: fn(&mut Machine<'a>, T)) {
        match read {
            Ok(read) => hand(&mut self.machine, read),
            Err(why) => self.machine.failed(why),
        }
    }

    async fn write(&mut self, step: &Step) {
        if !self.place.begins().await {
            return self.machine.postponed();
        }
        self.machine.executes(step);
        self.send();
        tracing::debug!(task = write_of(self.set, step), "write");
        let written = self.cluster.execute(self.set, self.machine.objects(), step).await;
        let (namespace, name) = (&*self.set.namespace, &*self.set.name);
        let outcome = written.as_str();
        tracing::info!(
            namespace,
            set = name,
            step = step.name(),
            outcome,
            "replace StatefulSet"
        );
        self.machine.answered(step, written, (self.cluster.clock)());
        self.send();
    }

    /// Sleeps, unless it is to stop.
    async fn pause(&mut self, millis: Millis, cause: &PauseCause) {
        if let PauseCause::Failure(why) = cause
            && !why.is_empty()
        {
            let (namespace, set) = (&*self.set.namespace, &*self.set.name);
            tracing::warn!(namespace, set, why, pause = millis, "a step of a replacement failed");
        }
        self.place.pauses(cause);
        let end = Instant::now() + Duration::from_millis(millis);
        while Instant::now() < end && !self.machine.stops(self.is_stopping()) {
            sleep_until(end.min(Instant::now() + POLL)).await;
        }
    }

    fn send(&mut self) {
        for notice in self.machine.notices() {
            send(self.notices, notice);
        }
    }
}

/// A notice about a set that is not absent, with this uid.
pub(super) fn notice(uid: Option<String>, what: Happened) -> Notice {
    Notice {
        uid,
        replicas: None,
        is_absent: false,
        what,
    }
}

fn send(notices: &UnboundedSender<Notice>, notice: Notice) {
    // Nobody listens any more when the controller stops.
    let _ = notices.unbounded_send(notice);
}

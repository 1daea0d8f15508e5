//! What may happen in a state, and what it does.

use super::machines::Machines;
use super::memory::{Limit, SmallProcess};
use super::objects::{SmallAnswer, Surroundings};
use super::users::ReplaceAction;
use super::world::ReplaceWorld;

/// What happens in a search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplaceScope {
    pub(crate) name: &'static str,
    /// Each at most once, in any order.
    pub(crate) actions: &'static [ReplaceAction],
    /// Crashes and lost replies.
    pub(crate) faults: u8,
    /// The number of our controllers.
    pub(crate) controllers: usize,
    pub(crate) surroundings: Surroundings,
}

/// One step of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReplaceEvent {
    Decide(usize),
    Execute(usize),
    LoseReply(usize),
    /// The write is not done, and answered so.
    Deny(usize, SmallAnswer),
    /// A read fails.
    FailRead(usize),
    Crash(usize),
    Act(ReplaceAction),
    WatchSet,
    WatchRevisions,
    Sync,
    Learn,
    LearnReport,
    /// The API server deletes a set whose last finalizer an update has removed.
    DeleteEmptied,
    Orphan,
    Foreground,
    Collect,
    EndNamespace,
    FreeQuota,
    /// Two seconds pass, in which the watch of ControllerRevisions catches up, requests on their way arrive, and nobody is
    /// between two steps.
    Settle,
    /// Five seconds pass, or a minute.
    Pass(Limit),
}

/// What somebody answers in place of the API server.
const ANSWERS: [SmallAnswer; 4] = [
    SmallAnswer::Denied,
    SmallAnswer::Conflict,
    SmallAnswer::NotFound,
    SmallAnswer::Unsure,
];

impl ReplaceScope {
    /// The first state.
    pub(super) fn start(&self) -> ReplaceWorld {
        let actions = (1_u8 << self.actions.len()) - 1;
        ReplaceWorld::start(self.surroundings, self.controllers, actions, self.faults)
    }
}

impl ReplaceWorld {
    /// What may happen next.
    pub(super) fn events(&self, scope: &ReplaceScope) -> Vec<ReplaceEvent> {
        use ReplaceEvent as Event;
        let mut events = Vec::with_capacity(24);
        for (place, process) in self.processes.iter().enumerate() {
            events.extend(process.iter().flat_map(|process| self.events_of(place, process)));
        }
        let actions = scope.actions.iter().enumerate();
        events.extend(
            actions
                .filter(|(place, _)| self.actions & 1 << place != 0)
                .map(|(_, action)| Event::Act(*action)),
        );
        events.push(Event::Collect);
        if !self.surroundings.prompt {
            events.extend([Event::WatchSet, Event::WatchRevisions, Event::Learn, Event::LearnReport]);
        }
        let set = self.set.unwrap_or_default();
        events.extend((!self.surroundings.stopped).then_some(Event::Sync));
        events.extend(self.emptied.map(|_| Event::DeleteEmptied));
        events.extend(set.orphan.then_some(Event::Orphan));
        events.extend(set.foreground.then_some(Event::Foreground));
        events.extend(self.namespace_ends.then_some(Event::EndNamespace));
        events.extend((!self.room).then_some(Event::FreeQuota));
        events.extend(self.times());
        events
    }

    fn events_of(&self, place: usize, process: &SmallProcess) -> impl Iterator<Item = ReplaceEvent> {
        use ReplaceEvent as Event;
        let (has_step, is_sent) = (process.facts.has_step, process.emptied == 0);
        let next = if has_step {
            Event::Execute(place)
        } else {
            Event::Decide(place)
        };
        let waits = !is_sent && self.emptied.is_some();
        let (fails, denies) = (self.faults > 0, self.faults > 0 && self.surroundings.denies);
        let answers = ANSWERS.into_iter().filter(move |_| denies && has_step && is_sent);
        let reads = denies && !has_step && !process.facts.knows && process.machine != 0;
        [
            (!waits).then_some(next),
            fails.then_some(Event::Crash(place)),
            (fails && has_step).then_some(Event::LoseReply(place)),
            reads.then_some(Event::FailRead(place)),
        ]
        .into_iter()
        .flatten()
        .chain(answers.map(move |answer| Event::Deny(place, answer)))
    }

    /// The limits that time may reach.
    fn times(&self) -> impl Iterator<Item = ReplaceEvent> {
        let facts = || self.processes.iter().flatten().map(|process| process.facts);
        let has_settled =
            self.seen_revisions == self.owners_of_revisions() && facts().all(|facts| !facts.has_step && !facts.knows);
        let is_slow = self.surroundings.slow;
        [
            (facts().any(|facts| facts.settles) && has_settled).then_some(ReplaceEvent::Settle),
            (is_slow && facts().any(|facts| facts.is_checked)).then_some(ReplaceEvent::Pass(Limit::Checks)),
            (is_slow && facts().any(|facts| facts.waits)).then_some(ReplaceEvent::Pass(Limit::Patience)),
        ]
        .into_iter()
        .flatten()
    }

    /// Takes a step. Returns a guarantee that it breaks.
    pub(super) fn happen(
        &mut self,
        event: ReplaceEvent,
        scope: &ReplaceScope,
        machines: &mut Machines,
    ) -> Option<&'static str> {
        let broken = self.happen_once(event, scope, machines);
        if self.surroundings.prompt {
            self.watch_set();
            self.watch_revisions();
            self.learn();
            self.learn_report();
        }
        broken
    }

    fn happen_once(
        &mut self,
        event: ReplaceEvent,
        scope: &ReplaceScope,
        machines: &mut Machines,
    ) -> Option<&'static str> {
        match event {
            ReplaceEvent::Decide(place)
            | ReplaceEvent::Execute(place)
            | ReplaceEvent::LoseReply(place)
            | ReplaceEvent::Deny(place, _)
            | ReplaceEvent::FailRead(place)
            | ReplaceEvent::Crash(place) => return self.happen_to(place, event, machines),
            ReplaceEvent::Act(action) => {
                let place = scope.actions.iter().position(|other| *other == action)?;
                if self.act(action) == SmallAnswer::Done {
                    self.actions &= !(1 << place);
                }
            }
            ReplaceEvent::WatchSet => self.watch_set(),
            ReplaceEvent::WatchRevisions => self.watch_revisions(),
            ReplaceEvent::Sync => self.sync(),
            ReplaceEvent::Learn => self.learn(),
            ReplaceEvent::LearnReport => self.learn_report(),
            ReplaceEvent::DeleteEmptied => self.delete_emptied(),
            ReplaceEvent::Orphan => self.orphan_dependents(),
            ReplaceEvent::Foreground => self.delete_in_foreground(),
            ReplaceEvent::Collect => self.collect(),
            ReplaceEvent::EndNamespace => self.end_namespace(),
            ReplaceEvent::FreeQuota => self.room = true,
            ReplaceEvent::Settle => self.pass(Limit::Settling, machines),
            ReplaceEvent::Pass(limit) => {
                self.truth.unguarded |= limit == Limit::Checks && !self.guard;
                self.pass(limit, machines);
            }
        }
        None
    }

    fn happen_to(&mut self, place: usize, event: ReplaceEvent, machines: &mut Machines) -> Option<&'static str> {
        let mut process = self.processes[place]?;
        let is_fault = !matches!(event, ReplaceEvent::Decide(_) | ReplaceEvent::Execute(_));
        self.faults -= u8::from(is_fault);
        let broken = match event {
            ReplaceEvent::Decide(_) => process.decide(self, machines),
            ReplaceEvent::Execute(_) => process.execute(place, self, machines, false),
            ReplaceEvent::LoseReply(_) => process.execute(place, self, machines, true),
            ReplaceEvent::Deny(_, answer) => process.meet(answer, self, machines),
            ReplaceEvent::FailRead(_) => {
                process.fail_read(machines);
                None
            }
            _ => {
                process = SmallProcess::default();
                None
            }
        };
        self.processes[place] = Some(process);
        broken
    }

    fn pass(&mut self, limit: Limit, machines: &mut Machines) {
        for process in self.processes.iter_mut().flatten() {
            process.reach(limit, machines);
        }
    }
}

//! What may happen in a state, and what it does.

use super::decision::ReplaceDecisions;
use super::memory::{Quiet, SmallProcess, SmallStep};
use super::objects::Surroundings;
use super::users::ReplaceAction;
use super::world::{ReplaceWorld, SmallAnswer};

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
    Start,
    Decide(usize),
    Execute(usize),
    LoseReply(usize),
    /// The write is not done, and answered with any code.
    Deny(usize),
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
}

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
        let mut events = Vec::with_capacity(16);
        for (place, process) in self.processes.iter().enumerate() {
            let Some(process) = process else { continue };
            let has_step = process.step.is_some();
            let waits = matches!(process.step, Some(SmallStep::AwaitDeletion(_))) && self.emptied.is_some();
            let next = if has_step {
                Event::Execute(place)
            } else {
                Event::Decide(place)
            };
            events.extend((!waits).then_some(next));
            if self.faults > 0 {
                events.push(Event::Crash(place));
                events.extend(has_step.then_some(Event::LoseReply(place)));
                let is_sent = has_step && !matches!(process.step, Some(SmallStep::AwaitDeletion(_)));
                events.extend((self.surroundings.denies && is_sent).then_some(Event::Deny(place)));
            }
        }
        let actions = scope.actions.iter().enumerate();
        events.extend(
            actions
                .filter(|(place, _)| self.actions & 1 << place != 0)
                .map(|(_, action)| Event::Act(*action)),
        );
        events.extend([
            Event::WatchSet,
            Event::WatchRevisions,
            Event::Sync,
            Event::Learn,
            Event::LearnReport,
            Event::Collect,
        ]);
        let set = self.set.unwrap_or_default();
        events.extend(self.emptied.map(|_| Event::DeleteEmptied));
        events.extend(set.orphan.then_some(Event::Orphan));
        events.extend(set.foreground.then_some(Event::Foreground));
        events.extend(self.namespace_ends.then_some(Event::EndNamespace));
        events.extend((!self.room).then_some(Event::FreeQuota));
        let mut processes = self.processes.iter().flatten();
        let waits = processes.any(|process| process.memory.quiet == Quiet::Since);
        let has_settled = self.seen_revisions == self.owners_of_revisions()
            && self
                .processes
                .iter()
                .flatten()
                .all(|process| process.step.is_none() && process.sight.is_none());
        events.extend((waits && has_settled).then_some(Event::Settle));
        events
    }

    /// Takes a step. Returns a guarantee that it breaks.
    pub(super) fn happen(
        &mut self,
        event: ReplaceEvent,
        scope: &ReplaceScope,
        decisions: &mut ReplaceDecisions,
    ) -> Option<&'static str> {
        match event {
            ReplaceEvent::Start => {}
            ReplaceEvent::Decide(place) => {
                let mut process = self.processes[place]?;
                process.decide(self, decisions);
                self.processes[place] = Some(process);
            }
            ReplaceEvent::Execute(place) | ReplaceEvent::LoseReply(place) => {
                let is_lost = event == ReplaceEvent::LoseReply(place);
                self.faults -= u8::from(is_lost);
                let mut process = self.processes[place]?;
                let broken = process.execute(place, self, decisions.bug, is_lost);
                self.processes[place] = Some(process);
                return broken;
            }
            ReplaceEvent::Deny(place) => {
                self.faults -= 1;
                self.processes[place].as_mut()?.meet_denial(decisions.bug);
            }
            ReplaceEvent::Crash(place) => {
                self.faults -= 1;
                self.processes[place] = Some(SmallProcess::default());
            }
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
            ReplaceEvent::Settle => {
                for process in self.processes.iter_mut().flatten() {
                    if process.memory.quiet == Quiet::Since {
                        process.memory.quiet = Quiet::Settled;
                    }
                }
            }
        }
        None
    }
}

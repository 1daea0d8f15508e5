//! Three Pods, the StatefulSet controller, and our controller with an old view of the Pods.

use super::decision::VolumesDecisions;
use super::objects::{LiveTemplates, PODS, SmallPod};

/// What is the same in all states of a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct VolumesScope {
    pub(super) name: &'static str,
    /// `podManagementPolicy: Parallel`
    pub(super) parallel: bool,
    /// The Pod template changes too: it mounts the volume.
    pub(super) mounts: bool,
    /// Somebody added the template by hand: it is live.
    pub(super) wedged: bool,
    /// How often users pause and continue.
    pub(super) pauses: u8,
    /// How many Pods fail or are deleted by users.
    pub(super) faults: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct VolumesWorld {
    pub(super) pods: [SmallPod; PODS],
    /// What our controller sees.
    pub(super) seen: [SmallPod; PODS],
    pub(super) templates: LiveTemplates,
    pub(super) paused: bool,
    pub(super) pauses: u8,
    pub(super) faults: u8,
    /// The Pods that are away because of others.
    excused: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VolumesEvent {
    /// The StatefulSet controller.
    Sync,
    /// The node.
    BecomesReady(usize),
    IsGone(usize),
    /// Our controller.
    Watch,
    Decide,
    Delete,
    Create,
    /// Users and faults.
    Pause,
    Fails(usize),
    IsDeleted(usize),
}

impl VolumesWorld {
    pub(super) fn start(scope: VolumesScope) -> Self {
        let pods = [SmallPod::Ready { new: false }; PODS];
        Self {
            pods,
            seen: pods,
            templates: if scope.wedged {
                LiveTemplates::New
            } else {
                LiveTemplates::Old
            },
            paused: false,
            pauses: scope.pauses,
            faults: scope.faults,
            excused: 0,
        }
    }

    pub(super) fn events(&self) -> Vec<VolumesEvent> {
        let mut events = vec![VolumesEvent::Sync, VolumesEvent::Watch, VolumesEvent::Decide];
        for (at, pod) in self.pods.iter().enumerate() {
            match pod {
                SmallPod::Unready { .. } => events.push(VolumesEvent::BecomesReady(at)),
                SmallPod::Going { .. } => events.push(VolumesEvent::IsGone(at)),
                SmallPod::Ready { .. } if self.faults > 0 => {
                    events.extend([VolumesEvent::Fails(at), VolumesEvent::IsDeleted(at)]);
                }
                _ => {}
            }
        }
        match self.templates {
            LiveTemplates::Old => events.push(VolumesEvent::Delete),
            LiveTemplates::Leaving => events.push(VolumesEvent::Create),
            LiveTemplates::New => {}
        }
        if self.pauses > 0 {
            events.push(VolumesEvent::Pause);
        }
        events
    }

    /// Returns the guarantee that the event breaks.
    pub(super) fn happen(
        &mut self,
        event: VolumesEvent,
        scope: &VolumesScope,
        decisions: &mut VolumesDecisions,
    ) -> Option<&'static str> {
        match event {
            VolumesEvent::Sync => return self.sync(scope, decisions),
            VolumesEvent::BecomesReady(at) => {
                if let SmallPod::Unready { new } = self.pods[at] {
                    self.pods[at] = SmallPod::Ready { new };
                }
            }
            VolumesEvent::IsGone(at) => self.pods[at] = SmallPod::Absent,
            VolumesEvent::Watch => self.seen = self.pods,
            VolumesEvent::Decide => return self.decide(decisions),
            VolumesEvent::Create => self.templates = LiveTemplates::New,
            VolumesEvent::Delete => {
                // `src/replace/check.rs`: a Pod may be missing only if it cannot be created.
                let is_missing = self.pods.contains(&SmallPod::Absent);
                let is_going = self.pods.iter().any(|pod| matches!(pod, SmallPod::Going { .. }));
                let is_unready = self.pods.iter().any(|pod| matches!(pod, SmallPod::Unready { .. }));
                let is_stuck = is_missing && scope.mounts;
                if !self.paused && !is_going && (is_stuck || !is_missing && !is_unready) {
                    self.templates = LiveTemplates::Leaving;
                }
            }
            VolumesEvent::Pause => {
                self.pauses -= 1;
                self.paused = !self.paused;
            }
            VolumesEvent::Fails(at) => {
                self.fault();
                let new = !self.pods[at].is_old();
                self.pods[at] = SmallPod::Unready { new };
            }
            VolumesEvent::IsDeleted(at) => {
                self.fault();
                let new = !self.pods[at].is_old();
                self.pods[at] = SmallPod::Going { new };
            }
        }
        None
    }

    fn is_live(&self) -> bool {
        self.templates == LiveTemplates::New
    }

    fn fault(&mut self) {
        self.faults -= 1;
        self.excused += 1;
    }

    /// The eviction that our controller decides on; the API server checks the uid.
    fn decide(&mut self, decisions: &mut VolumesDecisions) -> Option<&'static str> {
        let (at, by_name) = decisions.evict(self.seen, self.is_live(), self.paused)?;
        let is_same = self.pods[at].is_old() == self.seen[at].is_old();
        let exists = matches!(self.pods[at], SmallPod::Ready { .. } | SmallPod::Unready { .. });
        if !exists || !(is_same || by_name) {
            return None;
        }
        let (is_old, is_paused) = (self.pods[at].is_old(), self.paused);
        self.pods[at] = SmallPod::Going { new: !is_old };
        match (is_old && self.is_live(), is_paused) {
            (false, _) => Some("S20: a Pod was evicted that lacks nothing"),
            (_, true) => Some("S20: a Pod was evicted during a pause"),
            _ => None,
        }
    }

    /// `updateStatefulSet` in `pkg/controller/statefulset/stateful_set_control.go`.
    fn sync(&mut self, scope: &VolumesScope, decisions: &mut VolumesDecisions) -> Option<&'static str> {
        let goes_on = if self.templates == LiveTemplates::Leaving {
            // It does nothing for a StatefulSet that is being deleted, but a deletion may be under way.
            true
        } else if scope.parallel {
            // `slowStartBatch`: 1, 2, 4 ... Pods, until one of a batch fails.
            self.batch(0..1, scope) && self.batch(1..PODS, scope)
        } else {
            (0..PODS).all(|at| self.process_in_turn(at, scope))
        };
        if !goes_on || !scope.mounts {
            return None;
        }
        for at in (0..PODS).rev() {
            match self.pods[at] {
                SmallPod::Ready { new: false } | SmallPod::Unready { new: false } => {
                    if decisions.gate_is_closed(&self.pods, self.templates, self.paused, at) {
                        return None;
                    }
                    self.pods[at] = SmallPod::Going { new: false };
                    return Some("S20: Kubernetes deleted a Pod that could not be created");
                }
                SmallPod::Ready { new: true } => {}
                _ => return None,
            }
        }
        None
    }

    /// One Pod of `OrderedReady`: true iff the next one may be processed.
    fn process_in_turn(&mut self, at: usize, scope: &VolumesScope) -> bool {
        match self.pods[at] {
            SmallPod::Absent => {
                self.create(at, scope);
                false
            }
            SmallPod::Ready { new } => new || !self.is_live(),
            SmallPod::Unready { .. } | SmallPod::Going { .. } => false,
        }
    }

    /// Pods that are processed at the same time: true iff none failed.
    fn batch(&mut self, places: std::ops::Range<usize>, scope: &VolumesScope) -> bool {
        let mut goes_on = true;
        for at in places {
            goes_on &= match self.pods[at] {
                SmallPod::Absent => self.create(at, scope),
                pod => !(self.is_live() && pod.is_old()),
            };
        }
        goes_on
    }

    /// Creates a Pod, unless its template mounts a volume that is not there.
    fn create(&mut self, at: usize, scope: &VolumesScope) -> bool {
        let is_possible = self.is_live() || !scope.mounts;
        if is_possible {
            self.pods[at] = SmallPod::Unready { new: self.is_live() };
        }
        is_possible
    }

    /// The guarantee that the state breaks.
    pub(super) fn broken(&self) -> Option<&'static str> {
        let away = self
            .pods
            .iter()
            .filter(|pod| !matches!(pod, SmallPod::Ready { .. }))
            .count();
        (away > 1 + usize::from(self.excused)).then_some("S20: two Pods are away at the same time")
    }

    /// True iff nothing is left to do, or a user does not want it.
    pub(super) fn is_ended(&self) -> bool {
        self.paused || (self.is_live() && self.pods.iter().all(|pod| *pod == SmallPod::Ready { new: true }))
    }
}

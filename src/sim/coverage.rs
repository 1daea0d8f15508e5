//! Coverage of a run: rows of the table of KEP-4650, actions of the StatefulSets of this model, and states of claims.

use std::fmt;

use crate::gate::{ClaimState, Target};
use crate::rollout::assessment::At;
use crate::rollout::replica::Replica;
use crate::rollout::{Action, Plan, Reason, Snapshot, replica};
use crate::templates::Strategy;

/// Reasons that no decision of the rollout emits.
const OF_THE_SHELL: [Reason; 8] = [
    Reason::ClaimUpdated,
    Reason::PodEvicted,
    Reason::PodReplacedEarly,
    Reason::ClaimDeleted,
    Reason::ClaimRolloutNotWritten,
    Reason::StatefulSetReplaced,
    Reason::StatefulSetNotReplaced,
    Reason::RetentionKept,
];

/// Bit sets of what was reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Coverage {
    /// Rows of the table, with RollingUpdate and with OnDelete.
    rows: u32,
    actions: u32,
    states: u32,
    reasons: u32,
}

const AT: [At; 3] = [At::Absent, At::Outdated, At::Updated];
const ACTIONS: [&str; 6] = [
    "ApplyClaim",
    "ApplyClaim that takes back",
    "SetStaged",
    "SetReady",
    "SetReady that takes it back",
    "Event",
];

impl Coverage {
    /// The coverage of one decision.
    pub(crate) fn of(snapshot: &Snapshot, plan: &Plan) -> Self {
        let mut coverage = Self::default();
        for claim in &plan.progress.claims {
            coverage.state(claim.state);
        }
        let Ok(target) = Target::of(&snapshot.set, &snapshot.settings) else {
            return coverage;
        };
        let mounting = replica::mounting(snapshot);
        for ordinal in snapshot.set.ordinals() {
            for claim in Replica::assess(snapshot, &target, &mounting, ordinal).claims {
                coverage.state(claim.state);
                let place = |at: At| AT.iter().position(|other| *other == at).unwrap_or(0);
                let strategy = if snapshot.set.strategy == Strategy::OnDelete {
                    9
                } else {
                    0
                };
                coverage.rows |= 1 << (place(claim.pod_at) * 3 + place(claim.at) + strategy);
            }
        }
        coverage
    }

    /// Counts an action of a decision.
    pub(crate) fn acted(&mut self, action: &Action) {
        let place = match action {
            Action::ApplyClaim(apply) => usize::from(apply.taken_back.is_some()),
            Action::SetStaged(_) => 2,
            // Those with `ReCreate` have a model of their own, which counts its steps. In none are `restart` and a policy
            // that comes later: tables of unit tests decide on these.
            Action::Evict(_)
            | Action::SetStagedAt(_)
            | Action::HoldStaged(_)
            | Action::TakeSnapshot(_)
            | Action::MarkClaim(_)
            | Action::UnmarkClaim(_)
            | Action::DeleteClaim(_) => return,
            Action::SetReady(set) => 3 + usize::from(set.ready.is_none()),
            Action::Event(event) => {
                let reason = Reason::ALL.iter().position(|reason| *reason == event.reason);
                self.reasons |= 1 << reason.unwrap_or(31);
                5
            }
        };
        self.actions |= 1 << place;
    }

    fn state(&mut self, state: ClaimState) {
        let place = ClaimState::ALL.iter().position(|other| *other == state);
        self.states |= 1 << place.unwrap_or(31);
    }

    /// Adds the coverage of another run.
    pub(crate) fn add(&mut self, other: &Self) {
        self.rows |= other.rows;
        self.actions |= other.actions;
        self.states |= other.states;
        self.reasons |= other.reasons;
    }

    /// Everything that was never reached.
    pub(crate) fn missing(&self) -> Vec<String> {
        let mut missing = Vec::new();
        for (strategy, name) in [(0, "RollingUpdate"), (9, "OnDelete")] {
            for (pod, pod_at) in AT.iter().enumerate() {
                for (claim, claim_at) in AT.iter().enumerate() {
                    if self.rows & 1 << (pod * 3 + claim + strategy) == 0 {
                        missing.push(format!("row Pod {pod_at:?}, PVC {claim_at:?} with {name}"));
                    }
                }
            }
        }
        let of = |bits: u32, names: Vec<String>| {
            let unset = names
                .into_iter()
                .enumerate()
                .filter(move |(place, _)| bits & 1 << place == 0);
            unset.map(|(_, name)| name).collect::<Vec<_>>()
        };
        missing.extend(of(self.actions, ACTIONS.map(str::to_owned).into()));
        missing.extend(of(
            self.states,
            ClaimState::ALL.map(|state| format!("state {state}")).into(),
        ));
        let events = Reason::ALL.map(|reason| format!("event {}", reason.as_str()));
        let decided = events
            .into_iter()
            .enumerate()
            .filter(|(place, _)| !OF_THE_SHELL.contains(&Reason::ALL[*place]));
        missing.extend(
            decided
                .filter(|(place, _)| self.reasons & 1 << place == 0)
                .map(|(_, name)| name),
        );
        missing
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} of 18 rows of the table, {} of {} actions without `ReCreate`, {} of {} PVC states, {} of {} events",
            self.rows.count_ones(),
            self.actions.count_ones(),
            ACTIONS.len(),
            self.states.count_ones(),
            ClaimState::ALL.len(),
            self.reasons.count_ones(),
            Reason::ALL.len() - OF_THE_SHELL.len(),
        )
    }
}

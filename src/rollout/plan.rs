//! Decision two: the order of the rollout, and its end.

use std::collections::BTreeMap;

use super::action::{Action, SetStaged};
use super::bounds::Bounds;
use super::conditions;
use super::events;
use super::idle::Idle;
use super::lag;
use super::order::{self, Order, WaitsFor};
use super::progress::{self, Progress};
use super::quota::{self, Held};
use super::readiness::ClaimState;
use super::replica::{self, Replica};
use super::restart;
use super::snapshot::{Seconds, Snapshot};
use super::spending;
use super::target::Target;
use crate::templates::{Phase, Revision};

/// What is to be done, and what is to be reported.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// What to do now, in this order. Actions do not depend on each other's success.
    pub actions: Vec<Action>,
    /// What to report.
    pub progress: Progress,
    /// Look again after so many seconds, also if nothing is seen to change.
    pub requeue_after: Option<Seconds>,
    /// True iff nothing that claims or Pods do could call for an action, so that they need not be watched.
    pub settled: bool,
    /// True iff the quotas of the namespace are to be read before anything is written.
    pub asks_quotas: bool,
    /// How many PVCs of each storage class that has a budget are in motion, or are written now.
    pub places: BTreeMap<String, u32>,
    /// True iff the snapshot was halted: what is staged is not believed, or cannot be ended.
    pub halted: bool,
}

/// The longest time between two looks at a rollout, as a net below the watches.
pub const RECHECK: Seconds = 300;

/// What to do next to bring the claims of the set to its wish.
///
/// Total and deterministic. It decides from the claims themselves and remembers nothing, so it may be asked again at
/// any time, after a crash at any point, and by two controllers at once.
///
/// # Guarantees
/// * A claim is written only if it is the set's (S5), not being deleted (S10), bound, and not yet at the revision (S8);
///   never smaller than it is (S1). None is, if those that would grow do not fit into a quota all together (S13).
/// * Highest ordinal first, not below the partition; all claims of a replica, then none of the next one before these
///   are ready (S6); a replica whose Pod is not Ready comes before all others, because its full disk may be the reason.
///   Where Pods change as well, the gate lets each go when its claims are ready (S7), and the claims of the next replica
///   are written when it runs.
/// * At the wish there is nothing to do (S12).
#[must_use]
pub fn plan(snapshot: &Snapshot) -> Plan {
    let target = match (Target::of(&snapshot.set, &snapshot.settings), &snapshot.halted) {
        (Ok(target), None) => target,
        (Ok(_), Some(idle)) => return nothing(snapshot, idle),
        (Err(idle), _) => {
            let idle = lag::after(idle, snapshot.previous.as_ref(), &Revision::of(&snapshot.set.live));
            return nothing(snapshot, &idle);
        }
    };
    let mounting = replica::mounting(snapshot);
    let replicas: Vec<Replica<'_>> = snapshot
        .set
        .ordinals()
        .map(|ordinal| Replica::assess(snapshot, &target, &mounting, ordinal))
        .collect();
    let order = Order::of(snapshot, &replicas);
    let bounds = Bounds::of(snapshot, &target, &replicas, &order);

    let mut actions = applies(snapshot, &target, &order, &bounds);
    let all_done = replicas.iter().all(Replica::is_done);
    let is_complete = target.change.phase == Phase::Complete;
    let set = &snapshot.set;
    let refused = snapshot
        .write_refused
        .as_ref()
        .filter(|(_, retry_at)| *retry_at > snapshot.now);
    let settled = all_done && is_complete && !target.is_live(set);
    if !settled && refused.is_none() {
        actions.extend(match (is_complete, all_done && !set.paused && set.reaches_all()) {
            (false, true) => Some(Action::SetStaged(SetStaged::phase(set, target.change, Phase::Complete))),
            (false, false) => order::ready(snapshot, &target, &replicas).map(Action::SetReady),
            // The StatefulSet itself says all that is staged.
            (true, _) => (all_done && target.is_live(set)).then(|| Action::SetStaged(SetStaged::none(set))),
        });
    }
    actions.extend(restart::evict(snapshot, &replicas).map(Action::Evict));
    let progress = progress::of(snapshot, &target, &replicas, (&order, &bounds));
    actions.extend(
        events::changes(snapshot, &target, &replicas, &progress)
            .into_iter()
            .map(Action::Event),
    );
    let requeue_after = if settled {
        None
    } else {
        Some(requeue_after(snapshot, &replicas, &order, &bounds))
    };
    Plan {
        actions,
        progress,
        requeue_after,
        settled,
        asks_quotas: bounds.held == Some(Held::Unread),
        places: bounds.spending.places,
        halted: false,
    }
}

/// Nothing is rolled out.
fn nothing(snapshot: &Snapshot, idle: &Idle) -> Plan {
    // What was put back is not written again before its time.
    let undone = snapshot
        .halted
        .as_ref()
        .filter(|halted| matches!(halted, Idle::WriteUndone { .. }));
    let events = events::idle(snapshot, idle).map(Action::Event);
    let requeue_after = undone.unwrap_or(idle).requeue_after(snapshot.now);
    Plan {
        actions: events.into_iter().collect(),
        progress: progress::idle(snapshot, idle),
        requeue_after,
        settled: requeue_after.is_none() && !lag::waits(snapshot, idle),
        asks_quotas: false,
        places: BTreeMap::new(),
        halted: snapshot.halted.is_some(),
    }
}

/// The applies that are due.
fn applies(snapshot: &Snapshot, target: &Target<'_>, order: &Order<'_>, bounds: &Bounds) -> Vec<Action> {
    if bounds.held.is_some() {
        return Vec::new();
    }
    let claims = order.reached.iter().flat_map(|replica| &replica.claims);
    let due = claims.filter(|claim| claim.wants_apply(snapshot.now));
    let free = due.filter(|claim| bounds.spending.waits(claim.name.as_str()).is_none());
    let noted = free.filter_map(|claim| {
        let mut apply = claim.apply(snapshot, target)?;
        spending::note(snapshot, &mut apply);
        Some(Action::ApplyClaim(apply))
    });
    noted.collect()
}

/// Seconds until something may be due without anything having changed.
fn requeue_after(snapshot: &Snapshot, replicas: &[Replica<'_>], order: &Order<'_>, bounds: &Bounds) -> Seconds {
    let now = snapshot.now;
    let set = &snapshot.set;
    let since = snapshot.pods.values().filter_map(|pod| pod.ready_since);
    // Nobody says so when a Pod has been Ready for long enough.
    let available = since.map(|since| since.saturating_add(set.min_ready_seconds));
    let available = available.filter(|_| matches!(order.waits_for, Some(WaitsFor::Pod(_))));
    let refused = replicas
        .iter()
        .flat_map(|replica| &replica.claims)
        .filter(|claim| claim.state == ClaimState::Refused);
    let late = match order.waits_for {
        Some(WaitsFor::Pod(replica)) => conditions::asked_why(snapshot, replica),
        _ => None,
    };
    let due = refused.filter_map(|claim| claim.retry_at).chain(available).chain(late);
    let refused = snapshot.write_refused.as_ref().map(|(_, retry_at)| *retry_at);
    let quotas = bounds.held.as_ref().map(|_| now.saturating_add(quota::RECHECK));
    let next = due
        .chain(refused)
        .chain(quotas)
        .chain(bounds.spending.due_times(now))
        .chain(conditions::deadline(snapshot))
        .chain(restart::due(snapshot, replicas))
        .filter(|due| *due > now)
        .min();
    next.map_or(RECHECK, |due| (due - now).min(RECHECK))
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;

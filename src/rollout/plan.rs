//! The second decision: the actions of the rollout, and its end.

use super::action::Action;
use super::advance::Advance;
use super::bounds::Bounds;
use super::conditions::RolloutState;
use super::early_pods::EarlyPods;
use super::missing_volumes::MissingVolumes;
use super::order::{Order, WaitsFor};
use super::overview::Overview;
use super::progress::Progress;
use super::quota::Held;
use super::replica::Replica;
use super::snapshot::Snapshot;
use super::spending::PlaceDemand;
use super::volume_snapshot::ReCreateQuestion;
use super::{
    conditions, events, idle_report, missing_volumes, order, progress, quota, recreate, replica, restart, spending,
    stale_marks,
};
use crate::api::{ReadyReason, Seconds};
use crate::gate::idle::POLICY_RECHECK;
use crate::gate::{ClaimState, Idle, Target};
use crate::templates::{Phase, Revision};

/// The actions to take, and the progress to report.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The actions to take now, in this order. No action depends on the success of another.
    pub actions: Vec<Action>,
    /// The progress to report.
    pub progress: Progress,
    /// Reconcile again after this number of seconds, even if no watch reports a change.
    pub requeue_after: Option<Seconds>,
    /// True iff no change of a claim or a Pod could require an action, so that they need not be watched.
    pub settled: bool,
    /// True iff the quotas of the namespace must be read before the first write.
    pub asks_quotas: bool,
    /// What must be read before the next step of a re-creation is known.
    pub asks: Option<ReCreateQuestion>,
    /// The places in storage classes with a budget.
    pub places: PlaceDemand,
    /// The Pods that wait for their claims.
    pub early_pods: EarlyPods,
    /// True iff the snapshot was halted: the staged change is not trusted, or the rollout cannot end.
    pub halted: bool,
    /// True iff a Pod lacks a volume of the live templates.
    pub lacks: bool,
}

/// The longest time until the next reconcile, in case a watch misses a change.
pub const RECHECK: Seconds = 300;

/// Decides what to do next to bring the claims of the set to its desired templates.
///
/// The function is total and deterministic. It decides from the claims themselves and has no memory. So it is safe to
/// call it at any time, after a crash at any point, and from two controllers at once.
///
/// # Guarantees
/// * A claim is written only if it belongs to the set (S5), is not being deleted (S10), is bound, and is outdated (S8).
///   It never gets smaller (S1). No claim is written if all claims that would grow do not fit into a quota together
///   (S13).
/// * The highest ordinal comes first; replicas below the partition are left alone. All claims of a replica are written,
///   and none of the next replica before they are ready (S6). A replica whose Pod is not Ready comes before all others,
///   because a full disk may be the reason. If Pods change as well, the gate keeps each Pod until its claims are ready
///   (S7), and the claims of the next replica are written when the new Pod is available.
/// * PVCs of replicas that were scaled away since the change was staged come last, and the rollout is not complete
///   before them: some drivers expand only what no Pod uses.
/// * When everything is updated and ready, there is nothing to do (S12).
#[must_use]
pub fn plan(snapshot: &Snapshot) -> Plan {
    let plan = plan_claims(snapshot);
    match missing_volumes::find(snapshot) {
        Some(missing) => evicting(snapshot, plan, missing),
        None => plan,
    }
}

/// The plan, without Pods that lack a volume.
fn plan_claims(snapshot: &Snapshot) -> Plan {
    match target(snapshot) {
        Ok(target) => roll_out(snapshot, &target),
        Err(idle) => nothing(snapshot, &idle),
    }
}

/// What is rolled out; else why nothing is.
fn target(snapshot: &Snapshot) -> Result<Target<'_>, Idle> {
    match (Target::of(&snapshot.set, &snapshot.settings), &snapshot.halted) {
        // Nothing is written for a rollout that has ended.
        (Ok(target), None | Some(Idle::StagedBeforePolicy)) => Ok(target),
        (Ok(_), Some(idle)) => Err(idle.clone()),
        (Err(idle), halted) => {
            let idle = idle_report::after(idle, snapshot.previous.as_ref(), &Revision::of(&snapshot.set.live));
            // Without its claims, a withdrawal is known and the number of outdated claims is not.
            let unlisted = halted.as_ref().filter(|halted| matches!(halted, Idle::Unlisted { .. }));
            Err(unlisted.filter(|_| idle != Idle::Withdrawn).cloned().unwrap_or(idle))
        }
    }
}

/// The plan of a rollout.
fn roll_out(snapshot: &Snapshot, target: &Target<'_>) -> Plan {
    let mounting = replica::mounting(snapshot);
    let set = &snapshot.set;
    let assess = |ordinal| Replica::assess(snapshot, target, &mounting, ordinal);
    let in_range = set.ordinals().map(assess);
    let scaled_away = set
        .scaled_away()
        .map(assess)
        .filter(|replica| !replica.claims.is_empty());
    let all: Vec<Replica<'_>> = in_range.chain(scaled_away).collect();
    let replicas = replica::in_range(&all);
    let order = Order::of(snapshot, &all);
    let bounds = Bounds::of(snapshot, target, &all, &order);

    let recreation = recreate::next(snapshot, target, replicas, (&mounting, &bounds));

    let all_done = all.iter().all(Replica::is_done);
    let is_complete = target.change.phase == Phase::Complete;
    let settled = all_done && is_complete && !target.is_to_be_removed(set) && !recreation.is_first;
    if let (false, Some(idle)) = (settled, &snapshot.halted) {
        return nothing(snapshot, idle);
    }
    let advance = Advance::of(snapshot, target, &all);
    let overview = Overview {
        snapshot,
        target,
        replicas: &all,
        order: &order,
        bounds: &bounds,
        recreation: &recreation,
        deadline: conditions::deadline(snapshot, &order, advance.moved),
    };
    // Nothing comes before the time of the staging.
    let mut actions = Vec::new();
    if !recreation.is_first {
        actions.extend(applies(&overview));
        let write = order::set_write(snapshot, target, &all, recreation.is_busy);
        actions.extend(write.filter(|_| !writes_are_refused(snapshot)));
    }
    // One Pod at a time, whatever the reason.
    let evict = || restart::evict(snapshot, replicas).map(Action::Evict);
    let evicts = || (!recreation.is_busy).then(evict).flatten();
    actions.extend(recreation.action.clone().or_else(evicts));
    let progress = progress::assemble(&overview, advance);
    actions.extend(
        events::changes(snapshot, target, &all, &progress)
            .into_iter()
            .map(Action::Event),
    );
    let requeue_after = (!settled).then(|| requeue_after(&overview));
    Plan {
        actions,
        progress,
        requeue_after,
        settled,
        asks_quotas: bounds.held == Some(Held::Unread),
        asks: recreation.asks,
        places: bounds.spending.places,
        early_pods: EarlyPods::of(snapshot, target, replicas),
        halted: false,
        lacks: false,
    }
}

/// The plan while Pods lack a volume of the live templates: no other Pod is evicted, and no PVC deleted.
fn evicting(snapshot: &Snapshot, mut plan: Plan, missing: MissingVolumes) -> Plan {
    let MissingVolumes { message, evict, until } = missing;
    let disrupts = |action: &Action| {
        matches!(
            action,
            Action::Evict(_) | Action::TakeSnapshot(_) | Action::MarkClaim(_) | Action::DeleteClaim(_)
        )
    };
    plan.actions.retain(|action| !disrupts(action));
    plan.actions.extend(evict.map(Action::Evict));
    let progress = &mut plan.progress;
    let is_idle = [ReadyReason::NothingStaged, ReadyReason::Withdrawn];
    if is_idle.iter().any(|reason| reason.as_str() == progress.ready.reason) {
        let reason = ReadyReason::PodLacksVolume;
        [progress.ready, progress.reconciling, progress.stalled] = RolloutState { reason, message }.conditions();
    } else {
        progress.ready.message = format!("{}; {message}", progress.ready.message);
    }
    let until = until.saturating_sub(snapshot.now).max(1);
    Plan {
        requeue_after: Some(plan.requeue_after.map_or(until, |after| after.min(until))),
        settled: false,
        asks: None,
        lacks: true,
        ..plan
    }
}

/// The plan where nothing is rolled out.
fn nothing(snapshot: &Snapshot, idle: &Idle) -> Plan {
    // A write that was undone is not repeated before its time.
    let undone = snapshot
        .halted
        .as_ref()
        .filter(|halted| matches!(halted, Idle::WriteUndone { .. }));
    let events = events::idle(snapshot, idle).map(Action::Event);
    let is_touched = snapshot.halted.is_none() && stale_marks::are_removed(idle);
    let unmark = is_touched
        .then(|| stale_marks::next(snapshot, &replica::mounting(snapshot), None))
        .flatten();
    let requeue_after = undone.unwrap_or(idle).requeue_after(snapshot.now);
    let denied = snapshot
        .recreate
        .denied_now(snapshot.now)
        .map(|(_, retry_at)| *retry_at);
    let retry = denied.map_or(RECHECK, |retry_at| retry_at - snapshot.now);
    let is_to_be_held = *idle == Idle::StagedBeforePolicy && !snapshot.set.is_held;
    let requeue_after = requeue_after.or(unmark.is_some().then_some(retry));
    let requeue_after = requeue_after.or(is_to_be_held.then_some(POLICY_RECHECK));
    let unmark = unmark.filter(|_| denied.is_none());
    // The write that makes the hold last, and by which the policy knows it.
    let holds = is_to_be_held && !writes_are_refused(snapshot);
    let hold = holds.then(|| Action::HoldStaged(snapshot.set.version()));
    // The storage goes on with what was written, whatever the reason.
    let places = spending::left(snapshot);
    let is_left = spending::is_waited_for(snapshot, &places);
    let requeue_after = requeue_after.or(is_left.then_some(spending::RECHECK));
    Plan {
        actions: unmark.or(hold).into_iter().chain(events).collect(),
        progress: progress::idle(snapshot, idle),
        requeue_after,
        settled: requeue_after.is_none() && !idle_report::waits(snapshot, idle),
        asks_quotas: false,
        asks: None,
        places,
        early_pods: EarlyPods::default(),
        halted: snapshot.halted.is_some(),
        lacks: false,
    }
}

/// True iff the last write to the set was denied, and it is not yet time to retry it.
fn writes_are_refused(snapshot: &Snapshot) -> bool {
    let refused = snapshot.write_refused.as_ref();
    refused.is_some_and(|(_, retry_at)| *retry_at > snapshot.now)
}

/// The applies that are due.
fn applies(overview: &Overview<'_>) -> Vec<Action> {
    let Overview {
        snapshot,
        target,
        order,
        bounds,
        ..
    } = *overview;
    // Who writes a claim takes the completion back.
    let is_complete = target.change.phase == Phase::Complete && !snapshot.set.templates_can_change;
    if bounds.held.is_some() || is_complete && writes_are_refused(snapshot) {
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

/// Seconds until an action may be due although nothing changes.
fn requeue_after(overview: &Overview<'_>) -> Seconds {
    let Overview {
        snapshot,
        replicas,
        order,
        bounds,
        recreation,
        deadline,
        ..
    } = *overview;
    let now = snapshot.now;
    let set = &snapshot.set;
    let since = snapshot.pods.values().filter_map(|pod| pod.ready_since);
    // No watch reports that a Pod has been Ready for long enough.
    let available = since.map(|since| since.saturating_add(set.min_ready_seconds));
    let available = available.filter(|_| matches!(order.waits_for, Some(WaitsFor::Pod(_))));
    let refused = replicas
        .iter()
        .flat_map(|replica| &replica.claims)
        .filter(|claim| claim.state == ClaimState::Refused);
    let late = match order.waits_for {
        Some(WaitsFor::Pod(replica)) => conditions::explained_at(snapshot, replica),
        _ => None,
    };
    let due = recreation.due.into_iter().chain(deadline);
    let due = due.chain(refused.filter_map(|claim| claim.retry_at));
    let due = due.chain(available).chain(late);
    let refused = snapshot.write_refused.as_ref().map(|(_, retry_at)| *retry_at);
    let quotas = bounds.held.as_ref().map(|_| now.saturating_add(quota::RECHECK));
    let next = due
        .chain(refused)
        .chain(quotas)
        .chain(bounds.spending.due_times(now))
        .chain(restart::due(snapshot, replica::in_range(replicas)))
        .filter(|due| *due > now)
        .min();
    next.map_or(RECHECK, |due| (due - now).min(RECHECK))
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;

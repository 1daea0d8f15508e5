//! The conditions of a rollout: what it does and why it waits, as kstatus expects them.

use super::assessment::{At, ClaimAssessment};
use super::order::{Order, WaitsFor};
use super::overview::Overview;
use super::quota::Held;
use super::recovery::smallest_change;
use super::replica::Replica;
use super::restraint::Restraint;
use super::snapshot::{PodView, Snapshot};
use super::{idle_report, listing, order, replica};
use crate::api::reasons::Kind;
use crate::api::{ReadyReason, Seconds};
use crate::claims::compatible::kept_fields;
use crate::gate::{ClaimState, Idle, SetView, Target, target};
use crate::templates::{Diff, FrozenChange, Phase, Sync, keys};

/// How long a Pod may take before the condition explains why: while a Pod starts, its message changes often.
pub const PATIENCE: Seconds = 30;

/// One condition, as kstatus expects it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// True iff the status of the condition is `True`.
    pub holds: bool,
    /// The reason of the condition.
    pub reason: &'static str,
    /// The message of the condition.
    pub message: String,
}

/// The state of a rollout, from which its conditions are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RolloutState {
    /// The reason; it decides which condition holds.
    pub reason: ReadyReason,
    /// What the rollout does, waits for, or has reached.
    pub message: String,
}

impl RolloutState {
    /// Nothing is rolled out. A set that is being deleted is not ready, because its target was not reached.
    #[must_use]
    pub fn idle(idle: &Idle) -> Self {
        Self {
            reason: idle.reason(),
            message: idle.to_string(),
        }
    }

    /// The state of a running or complete rollout.
    #[must_use]
    pub fn of(overview: &Overview<'_>) -> Self {
        if let Some(stopped) = Self::stopped(overview) {
            return stopped;
        }
        let Overview {
            snapshot,
            target,
            replicas,
            order,
            bounds,
            recreation,
            deadline,
        } = *overview;
        let in_range = replica::in_range(replicas);
        let done = in_range.iter().filter(|replica| replica.is_done()).count();
        if done == in_range.len() && target.change.phase == Phase::Complete {
            let more = [
                keeping(snapshot, target, replicas),
                idle_report::asking(snapshot),
                renaming(snapshot, target),
            ];
            let more = more.into_iter().flatten().map(|more| format!("; {more}"));
            return Self {
                reason: ReadyReason::Complete,
                message: format!("All PVCs are updated and ready{}", more.collect::<String>()),
            };
        }
        let (reason, waits) = match bounds.spending.only(replicas, order) {
            Some((name, waits)) => (ReadyReason::WaitsForBudget, Some(format!("{name} {}", waits.message))),
            _ if !snapshot.set.paused && recreation.waits.is_some() => {
                (ReadyReason::RollingOut, recreation.waits.clone())
            }
            _ => waiting(snapshot, replicas, order),
        };
        let mut message = format!("{done} of {} replicas are ready", in_range.len());
        if let Some(waits) = waits {
            message = format!("{message}; {waits}");
        }
        if reason == ReadyReason::RollingOut && deadline.is_some_and(|deadline| deadline <= snapshot.now) {
            return Self {
                reason: ReadyReason::ProgressDeadlineExceeded,
                message: format!(
                    "No progress for {} seconds: {message}",
                    snapshot.set.progress_deadline.0
                ),
            };
        }
        Self { reason, message }
    }

    /// The state if the rollout cannot go on until somebody acts.
    fn stopped(overview: &Overview<'_>) -> Option<Self> {
        let Overview {
            snapshot,
            target,
            replicas,
            order,
            bounds,
            recreation,
            ..
        } = *overview;
        // A denied write that is not needed any more does not count, nor one that pause or partition keeps back.
        let write = || order::set_write(snapshot, target, replicas, recreation.is_busy);
        let goes_on = |replica: &Replica<'_>| replica.restraint.is_none() && !replica.is_done();
        let is_needed = || recreation.is_first || replicas.iter().any(goes_on) || write().is_some();
        if let Some((why, _)) = snapshot.write_refused.as_ref().filter(|_| is_needed()) {
            let message = format!("Failed to update the StatefulSet: {why}");
            return Some(Self {
                reason: ReadyReason::WriteRefused,
                message,
            });
        }
        if let Some(Held::Exceeds(excess)) = &bounds.held {
            return Some(Self {
                reason: ReadyReason::WouldExceedQuota,
                message: excess.to_string(),
            });
        }
        if let Some(stuck) = stuck(replicas, order) {
            let reason = match stuck.state {
                ClaimState::Refused => ReadyReason::ClaimRefused,
                ClaimState::Foreign => ReadyReason::ClaimForeign,
                _ => ReadyReason::ClaimInfeasible,
            };
            let mut message = format!("{}: {}", stuck.name, stuck.message);
            if stuck.state == ClaimState::Infeasible
                && let Some(change) = smallest_change(snapshot, target, replicas, stuck)
            {
                message = format!("{message}; {change}");
            }
            return Some(Self { reason, message });
        }
        recreation.blocked.as_ref().map(|why| Self {
            reason: ReadyReason::ReCreateStopped,
            message: why.clone(),
        })
    }

    /// Ready, Reconciling and Stalled. At most one of them holds, as kstatus expects. Ready always has the message.
    #[must_use]
    pub fn conditions(self) -> [Condition; 3] {
        let reason = self.reason.as_str();
        let [settled, moving, stalled] = match self.reason.kind() {
            Kind::Settled => [(true, reason), (false, reason), (false, reason)],
            Kind::Moving | Kind::Waiting => [(false, reason), (true, reason), (false, "NotStalled")],
            Kind::Stalled => [(false, reason), (false, "Stalled"), (true, reason)],
        };
        let condition = |(holds, reason), is_ready: bool| {
            let message = if holds || is_ready {
                self.message.clone()
            } else {
                String::new()
            };
            Condition { holds, reason, message }
        };
        [
            condition(settled, true),
            condition(moving, false),
            condition(stalled, false),
        ]
    }
}

/// The progress deadline, counted from the last progress. A Pod that the rollout waits for has to be available, and may take
/// as long to end as it is granted.
#[must_use]
pub fn deadline(snapshot: &Snapshot, order: &Order<'_>, moved: Seconds) -> Option<Seconds> {
    // Waiting is no lack of progress, so the time starts after it.
    snapshot.previous.as_ref().filter(|previous| !previous.waited())?;
    let granted = match order.waits_for {
        Some(WaitsFor::Pod(replica)) => {
            let ends = replica.pod.and_then(|pod| pod.deleted);
            ends.unwrap_or(0)
                .max(moved.saturating_add(snapshot.set.min_ready_seconds))
        }
        _ => moved,
    };
    Some(granted.saturating_add(snapshot.set.progress_deadline.0.into()))
}

/// The first claim that needs somebody to act: one that was written, or denied, or whose turn it is.
fn stuck<'a>(replicas: &'a [Replica<'a>], order: &Order<'a>) -> Option<&'a ClaimAssessment<'a>> {
    let reached = order.reached.iter().flat_map(|replica| &replica.claims);
    let written = replicas.iter().flat_map(|replica| &replica.claims);
    let written = written.filter(|claim| claim.at == At::Updated || claim.retry_at.is_some());
    reached.chain(written).find(|claim| claim.state.is_stalled())
}

/// How many claims keep immutable fields because those of their template are for new claims, if any.
fn keeping(snapshot: &Snapshot, target: &Target<'_>, replicas: &[Replica<'_>]) -> Option<String> {
    let frozen = target::frozen(&snapshot.set, &snapshot.settings);
    let kept = replicas.iter().flat_map(|replica| &replica.claims).filter_map(|claim| {
        let mut templates = target.change.templates.iter();
        let template = templates.find(|template| template.name == claim.template.name)?;
        kept_fields(template, claim.claim?, frozen).into_iter().next()
    });
    let kept: Vec<FrozenChange> = kept.collect();
    let field = &kept.first()?.field;
    Some(match kept.len() {
        1 => format!("1 PVC keeps its {field}: the template's is for new PVCs"),
        count => format!("{count} PVCs keep their {field}: the template's is for new PVCs"),
    })
}

/// What the replacement of the set will add and remove, if anything.
fn renaming(snapshot: &Snapshot, target: &Target<'_>) -> Option<String> {
    let Diff { added, removed, .. } = Diff::between(&snapshot.set.live, &target.change.templates);
    let parts = [
        (&added, "added", "to mount them, each Pod is evicted after that"),
        (&removed, "removed", "their PVCs stay"),
    ];
    let parts = parts.into_iter().filter(|(names, ..)| !names.is_empty());
    let parts: Vec<String> = parts
        .map(|(names, what, then)| format!("{} {what}: {then}", names.join(", ")))
        .collect();
    (!parts.is_empty()).then(|| format!("the StatefulSet is replaced next; {}", parts.join("; ")))
}

/// The reason why the rollout is not complete, and what it waits for.
fn waiting(snapshot: &Snapshot, replicas: &[Replica<'_>], order: &Order<'_>) -> (ReadyReason, Option<String>) {
    let set = &snapshot.set;
    if set.paused {
        let paused = format!("paused by the annotation {}", keys::PAUSED);
        return (ReadyReason::Paused, Some(paused));
    }
    if let Some(WaitsFor::Pod(replica)) = order.waits_for {
        return (ReadyReason::RollingOut, Some(pod(snapshot, replica)));
    }
    let behind = |replica: &&&Replica<'_>| !replica.is_done();
    let next = match order.waits_for {
        Some(WaitsFor::Claims(replica)) => Some(replica),
        _ => order.reached.iter().find(behind).copied(),
    };
    if let Some(replica) = next {
        // Only its node has work to do.
        let is_over = replica.scaled_away && order.waits_for.is_none();
        let reason = if is_over {
            ReadyReason::ScaledDown
        } else {
            ReadyReason::RollingOut
        };
        return (reason, claims(set, replica));
    }
    if replicas
        .iter()
        .any(|replica| replica.restraint == Some(Restraint::OnDelete))
    {
        return (ReadyReason::OnDelete, by_hand(set, replicas));
    }
    if !set.reaches_all() {
        let others = format!("the others are below the partition {}", set.partition);
        return (ReadyReason::Partitioned, Some(others));
    }
    (ReadyReason::RollingOut, None)
}

/// The claim that the next replica waits for: the first that blocks it, else the first that is not done. The Pod of the
/// claim may wait for it as well.
fn claims(set: &SetView, replica: &Replica<'_>) -> Option<String> {
    let keeps = |claim: &&ClaimAssessment<'_>| !claim.lets_pass(set);
    let behind = |claim: &&ClaimAssessment<'_>| claim.state != ClaimState::Done;
    let mut claims = replica.claims.iter();
    let claim = replica.claims.iter().find(keeps).or_else(|| claims.find(behind))?;
    let mut message = format!("{} is {}: {}", claim.name, claim.state, claim.message);
    if replica.scaled_away {
        let then = match claim.state {
            ClaimState::NodeExpanding => "when its Pod is back: scale up",
            _ => "its Pod was scaled away",
        };
        return Some(format!("{message}; {then}"));
    }
    if claim.keeps_pod && replica.pod_at == At::Outdated && set.sync == Sync::LockStep {
        message = format!(
            "{message}; Pod {}-{} is replaced when it is ready",
            set.name, replica.ordinal
        );
    }
    Some(message)
}

/// The Pod that the next replica waits for. After [`PATIENCE`] the message explains why the Pod is not Ready.
fn pod(snapshot: &Snapshot, replica: &Replica<'_>) -> String {
    let set = &snapshot.set;
    let name = set.pod_name(replica.ordinal);
    let waits = format!("waiting for Pod {name} to be Ready at revision {}", set.update_revision);
    if let Some(why) = replica.pod.and_then(|pod| late(pod, snapshot.now)) {
        return format!("{waits}: {why}");
    }
    let below = other_not_ready(snapshot, replica);
    match below.and_then(|(ordinal, pod)| Some((ordinal, late(pod, snapshot.now)?))) {
        Some((ordinal, why)) => format!(
            "{waits}, which Kubernetes replaces when {}-{ordinal} is Ready: {why}",
            set.name
        ),
        None => waits,
    }
}

/// The Pod that keeps Kubernetes from replacing this one: the lowest other Pod that is not Ready.
fn other_not_ready<'a>(snapshot: &'a Snapshot, replica: &Replica<'_>) -> Option<(u32, &'a PodView)> {
    let set = &snapshot.set;
    if replica.pod_at == At::Updated {
        return None;
    }
    let others = set.ordinals().filter(|ordinal| *ordinal != replica.ordinal);
    let pods = others.filter_map(|ordinal| Some((ordinal, snapshot.pod_of(ordinal)?)));
    pods.filter(|(_, pod)| pod.ready_since.is_none()).last()
}

/// When the condition will explain why the Pod of this replica is not Ready.
#[must_use]
pub fn explained_at(snapshot: &Snapshot, replica: &Replica<'_>) -> Option<Seconds> {
    let below = other_not_ready(snapshot, replica).map(|(_, pod)| pod);
    let pods = replica.pod.into_iter().chain(below);
    pods.filter_map(PodView::explained_at)
        .filter(|due| *due > snapshot.now)
        .min()
}

/// Why a Pod takes longer than [`PATIENCE`].
fn late(pod: &PodView, now: Seconds) -> Option<&str> {
    let due = pod.explained_at()?;
    let why = pod.unready.as_ref().map_or("", |unready| &unready.message);
    (due <= now).then_some(if pod.deleted.is_some() {
        "still being deleted"
    } else {
        why
    })
}

/// Asks to delete the Pods that keep an `OnDelete` rollout waiting.
fn by_hand(set: &SetView, replicas: &[Replica<'_>]) -> Option<String> {
    let behind = replicas.iter().filter(|replica| !replica.is_done());
    let names = listing::some(behind.map(|replica| set.pod_name(replica.ordinal)))?;
    Some(format!("delete these Pods to continue: {names}"))
}

impl PodView {
    /// When the condition will explain why the Pod is not Ready.
    fn explained_at(&self) -> Option<Seconds> {
        let unready = self.unready.as_ref().map(|unready| unready.since);
        Some(self.deleted.or(unready)?.saturating_add(PATIENCE))
    }
}

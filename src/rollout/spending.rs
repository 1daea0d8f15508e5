//! Spending the budgets of storage classes: clouds permit a few modifications of a volume a day, and count all requests
//! of an account.
//!
//! A PVC that waits for a budget keeps its turn: no PVC below overtakes it.

use std::collections::BTreeMap;

use super::action::ApplyClaim;
use super::assessment;
use super::assessment::ClaimAssessment;
use super::budget::AtOnce;
use super::order::{Order, WaitsFor};
use super::replica::Replica;
use super::snapshot::Snapshot;
use crate::api::{Seconds, time};
use crate::claims::Claim;
use crate::gate::{ClaimState, Target, readiness};
use crate::templates::keys;

/// The time in which modifications are counted.
pub const WINDOW: Seconds = 24 * 60 * 60;

/// Time until the next reconcile while PVCs of other StatefulSets use the whole budget. A place that comes free ends the
/// wait before.
pub const RECHECK: Seconds = 30;

/// Why a PVC whose turn it is must wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetWait {
    /// When the PVC may continue, if known.
    pub until: Option<Seconds>,
    /// The message for users.
    pub message: String,
}

/// How much of the budgets a rollout uses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spending {
    /// The names of the PVCs that wait, in the order of the rollout.
    pub waits: Vec<(String, BudgetWait)>,
    /// The places of the PVCs in motion, and how many more are waited for.
    pub places: PlaceDemand,
    /// For each class, how many places the PVCs take.
    taken: BTreeMap<String, u32>,
    /// How many PVCs are written now.
    written: usize,
}

/// The places that a rollout has in storage classes with a budget, and those that it waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaceDemand {
    /// The storage classes of the PVCs that are in motion or written now, by uid.
    pub moving: BTreeMap<String, String>,
    /// How many PVCs wait for a place, by storage class.
    pub waiting: BTreeMap<String, u32>,
}

impl Spending {
    /// What this rollout uses, and which PVCs wait.
    pub(super) fn of(
        snapshot: &Snapshot,
        target: &Target<'_>,
        replicas: &[Replica<'_>],
        reached: &[&Replica<'_>],
    ) -> Self {
        let mut spending = Self::default();
        let classes = &snapshot.budgets.classes;
        if classes.is_empty() {
            return spending;
        }
        let moving = replicas.iter().flat_map(|replica| &replica.claims);
        for claim in moving
            .filter(|claim| takes_place(claim))
            .filter_map(|moving| moving.claim)
        {
            if let Some(class) = claim.storage_class_name().filter(|class| classes.contains_key(*class)) {
                spending.take(snapshot, claim, class);
            }
        }
        let reached = reached.iter().flat_map(|replica| &replica.claims);
        for assessment in reached.filter(|assessment| assessment.wants_apply(snapshot.now)) {
            match spending.spend(snapshot, target, assessment) {
                Some(waits) => spending.waits.push((assessment.name.to_string(), waits)),
                None => spending.written += 1,
            }
        }
        spending
    }

    /// Why this PVC must wait; if it need not, its place is taken.
    fn spend(
        &mut self,
        snapshot: &Snapshot,
        target: &Target<'_>,
        assessment: &ClaimAssessment<'_>,
    ) -> Option<BudgetWait> {
        let claim = assessment.claim?;
        let class = claim.storage_class_name()?;
        let budget = snapshot.budgets.classes.get(class)?;
        if !modifies(claim, &assessment.apply(snapshot, target)?) {
            return None;
        }
        let times = snapshot.budgets.modified.get(&claim.uid);
        if let (Some(most), Some(times)) = (budget.per_day, times)
            && let Some(waits) = BudgetWait::used_up(times, class, most, snapshot.now)
        {
            return Some(waits);
        }
        // It has its place already, since an earlier staging.
        if self.places.moving.contains_key(&claim.uid) {
            return None;
        }
        let ours = self.taken.get(class).copied().unwrap_or(0);
        let message = match &budget.at_once {
            Some(AtOnce { others: None, .. }) => "waits until the controller has read every rollout once".to_owned(),
            Some(AtOnce {
                most,
                others: Some(others),
                holder,
            }) if others.saturating_add(ours) >= *most => {
                let holder = holder
                    .as_ref()
                    .map(|holder| format!("; StatefulSet {holder} has a place"));
                let holder = holder.unwrap_or_default();
                format!("waits: at most {most} PVCs of storage class {class} may be in motion at a time{holder}")
            }
            _ => {
                self.take(snapshot, claim, class);
                return None;
            }
        };
        *self.places.waiting.entry(class.to_owned()).or_default() += 1;
        Some(BudgetWait { until: None, message })
    }

    /// The PVC takes a place, unless it has been in motion for too long.
    fn take(&mut self, snapshot: &Snapshot, claim: &Claim, class: &str) {
        self.places.moving.insert(claim.uid.clone(), class.to_owned());
        let takes = u32::from(!snapshot.budgets.late.contains(&claim.uid));
        *self.taken.entry(class.to_owned()).or_default() += takes;
    }

    /// Why this PVC must wait, if so.
    pub fn waits(&self, claim: &str) -> Option<&BudgetWait> {
        let mut waits = self.waits.iter();
        waits.find(|(name, _)| name == claim).map(|(_, waits)| waits)
    }

    /// The first PVC that waits, if the rollout waits for nothing else: no PVC is in motion or written, and no Pod
    /// comes first.
    pub(super) fn only(&self, replicas: &[Replica<'_>], order: &Order<'_>) -> Option<&(String, BudgetWait)> {
        let mut claims = replicas.iter().flat_map(|replica| &replica.claims);
        let is_moving = self.written > 0 || claims.any(|claim| claim.state.is_in_motion());
        let is_for_a_pod = matches!(order.waits_for, Some(WaitsFor::Pod(_)));
        self.waits.first().filter(|_| !is_moving && !is_for_a_pod)
    }

    /// When PVCs that wait may continue.
    pub fn due_times(&self, now: Seconds) -> impl Iterator<Item = Seconds> {
        let waits = self.waits.iter();
        waits.map(move |(_, waits)| waits.until.unwrap_or_else(|| now.saturating_add(RECHECK)))
    }
}

/// True iff the PVC is in motion, and not only its node has work to do: that may wait for a Pod, and no cloud limits it.
fn takes_place(assessment: &ClaimAssessment<'_>) -> bool {
    let is_on_the_node =
        assessment.state == ClaimState::NodeExpanding && assessment.claim.is_some_and(readiness::needs_pod);
    (assessment.state.is_in_motion() || assessment.is_in_motion()) && !is_on_the_node
}

/// The places of the PVCs that were left in motion where nothing is rolled out any more.
pub(super) fn left(snapshot: &Snapshot) -> PlaceDemand {
    let moving = snapshot.claims.values().filter(|claim| assessment::moves(claim));
    let moving = moving.filter_map(|claim| {
        let class = claim.storage_class_name()?;
        let has_budget = snapshot.budgets.classes.contains_key(class);
        has_budget.then(|| (claim.uid.clone(), class.to_owned()))
    });
    PlaceDemand {
        moving: moving.collect(),
        waiting: BTreeMap::new(),
    }
}

/// True iff a PVC has a place, and not for too long.
pub(super) fn is_waited_for(snapshot: &Snapshot, places: &PlaceDemand) -> bool {
    places.moving.keys().any(|uid| !snapshot.budgets.late.contains(uid))
}

/// True iff the apply requests something from the driver: another size, or another attributes class.
#[must_use]
pub fn modifies(claim: &Claim, apply: &ApplyClaim) -> bool {
    let class = apply.volume_attributes_class_name.as_ref();
    apply.storage != claim.request || class.is_some() && class != claim.class.as_ref()
}

/// The modifications of a PVC in the last 24 hours, oldest first. Times in the future are from a clock that was set
/// back since, and do not count.
fn recent(times: &[Seconds], now: Seconds) -> Vec<Seconds> {
    let recent = |time: &&Seconds| **time <= now && now - **time < WINDOW;
    let mut times: Vec<Seconds> = times.iter().filter(recent).copied().collect();
    times.sort_unstable();
    times.dedup();
    times
}

impl BudgetWait {
    /// Why and until when a PVC that was modified at these times must wait, if so; `most` is the budget of its class
    /// for 24 hours.
    #[must_use]
    pub fn used_up(times: &[Seconds], class: &str, most: u32, now: Seconds) -> Option<Self> {
        let recent = recent(times, now);
        let first = recent.len().checked_sub(usize::try_from(most).unwrap_or(usize::MAX))?;
        let until = recent.get(first)?.saturating_add(WINDOW);
        let often = if most == 1 {
            "once".to_owned()
        } else {
            format!("{most} times")
        };
        Some(Self {
            until: Some(until),
            message: format!(
                "has been modified {often} in 24 h, the limit of storage class {class}; continues at {}",
                time::write(until).unwrap_or_default()
            ),
        })
    }
}

/// Writes the times of modifications on the PVC, if its class has a budget for them. This is the only memory of them.
pub fn note(snapshot: &Snapshot, apply: &mut ApplyClaim) {
    let Some(claim) = snapshot.claims.get(apply.name.as_str()) else {
        return;
    };
    let class = claim.storage_class_name();
    let budget = class.and_then(|class| snapshot.budgets.classes.get(class));
    if budget.is_none_or(|budget| budget.per_day.is_none()) {
        return;
    }
    let mut times = snapshot.budgets.modified.get(&claim.uid).cloned().unwrap_or_default();
    // The guard permits new annotations only together with a new revision. A repeated apply was counted before.
    if !apply.label.is_on(&claim.labels) {
        times = recent(&times, snapshot.now);
        times.extend(modifies(claim, apply).then_some(snapshot.now));
    }
    if !times.is_empty() {
        apply.annotations.insert(keys::MODIFIED.to_owned(), write(&times));
    }
}

/// The value of the annotation.
#[must_use]
pub fn write(times: &[Seconds]) -> String {
    let times: Vec<String> = times.iter().filter_map(|at| time::write(*at)).collect();
    times.join(",")
}

/// Reads the annotation; invalid times are left out.
#[must_use]
pub fn read(text: &str) -> Vec<Seconds> {
    text.split(',').filter_map(|at| time::read(at.trim())).collect()
}

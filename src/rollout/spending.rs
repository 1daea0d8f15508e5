//! Spending the budgets of storage classes: clouds permit a few modifications of a volume a day, and count all requests
//! of an account.
//!
//! A PVC that waits for a budget keeps its turn: no PVC below overtakes it.

use std::collections::BTreeMap;

use super::action::ApplyClaim;
use super::budget::AtOnce;
use super::order::{Order, WaitsFor};
use super::replica::{ClaimAssessment, Replica};
use super::snapshot::{Seconds, Snapshot};
use super::target::Target;
use super::time;
use crate::claims::Claim;
use crate::templates::keys;

/// The time in which modifications are counted.
pub const WINDOW: Seconds = 24 * 60 * 60;

/// Time until the next reconcile while PVCs of other StatefulSets use the whole budget.
pub const RECHECK: Seconds = 5;

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
    /// For each class, how many PVCs are in motion, including those that are written now.
    pub places: BTreeMap<String, u32>,
    /// How many PVCs are written now.
    written: usize,
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
        for assessment in moving.filter(|assessment| assessment.state.is_in_motion()) {
            if let Some(class) = assessment.claim.and_then(Claim::storage_class_name)
                && classes.contains_key(class)
            {
                *spending.places.entry(class.to_owned()).or_default() += 1;
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
        let ours = self.places.entry(class.to_owned()).or_default();
        if let Some(AtOnce { most, others }) = budget.at_once {
            let message = match others {
                None => "waits until the controller has read every rollout once".to_owned(),
                Some(others) if others.saturating_add(*ours) >= most => {
                    format!("waits: at most {most} PVCs of storage class {class} may be in motion at a time")
                }
                Some(_) => {
                    *ours += 1;
                    return None;
                }
            };
            return Some(BudgetWait { until: None, message });
        }
        *ours += 1;
        None
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

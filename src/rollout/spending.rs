//! How often a PVC may be modified, and how many at a time: clouds let volumes be modified a few times a day, and count all
//! requests of an account.
//!
//! Who waits for a budget keeps its turn: those below it do not overtake it.

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

/// In what time modifications are counted.
pub const WINDOW: Seconds = 24 * 60 * 60;

/// Time between two looks while PVCs of other StatefulSets have all places.
pub const RECHECK: Seconds = 5;

/// Why a PVC whose turn it is has to wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waits {
    /// When it may go on, where that is known.
    pub until: Option<Seconds>,
    /// In words.
    pub message: String,
}

/// What a rollout uses of the budgets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spending {
    /// Who waits, by name, in the order of the rollout.
    pub waits: Vec<(String, Waits)>,
    /// How many PVCs of each class are in motion, those that are written now included.
    pub places: BTreeMap<String, u32>,
    /// Who is written now.
    written: usize,
}

impl Spending {
    /// What this rollout uses, and who waits for what.
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
        for standing in moving.filter(|standing| standing.state.is_in_motion()) {
            if let Some(class) = standing.claim.and_then(Claim::storage_class_name)
                && classes.contains_key(class)
            {
                *spending.places.entry(class.to_owned()).or_default() += 1;
            }
        }
        let reached = reached.iter().flat_map(|replica| &replica.claims);
        for standing in reached.filter(|standing| standing.wants_apply(snapshot.now)) {
            match spending.spend(snapshot, target, standing) {
                Some(waits) => spending.waits.push((standing.name.to_string(), waits)),
                None => spending.written += 1,
            }
        }
        spending
    }

    /// Why this one has to wait; where it need not, its place is taken.
    fn spend(&mut self, snapshot: &Snapshot, target: &Target<'_>, standing: &ClaimAssessment<'_>) -> Option<Waits> {
        let claim = standing.claim?;
        let class = claim.storage_class_name()?;
        let budget = snapshot.budgets.classes.get(class)?;
        if !modifies(claim, &standing.apply(snapshot, target)?) {
            return None;
        }
        let times = snapshot.budgets.modified.get(&claim.uid);
        if let (Some(most), Some(times)) = (budget.per_day, times)
            && let Some(waits) = Waits::used_up(times, class, most, snapshot.now)
        {
            return Some(waits);
        }
        let ours = self.places.entry(class.to_owned()).or_default();
        if let Some(AtOnce { most, others }) = budget.at_once {
            let message = match others {
                None => "waits until every rollout was looked at, as after each start of the controller".to_owned(),
                Some(others) if others.saturating_add(*ours) >= most => {
                    format!("waits for one of the {most} PVCs of storage class {class} that may be in motion at a time")
                }
                Some(_) => {
                    *ours += 1;
                    return None;
                }
            };
            return Some(Waits { until: None, message });
        }
        *ours += 1;
        None
    }

    /// Why this one has to wait.
    pub fn waits(&self, claim: &str) -> Option<&Waits> {
        let mut waits = self.waits.iter();
        waits.find(|(name, _)| name == claim).map(|(_, waits)| waits)
    }

    /// The first that waits, where nothing else is waited for: nothing is in motion, nothing is written, and no Pod comes first.
    pub(super) fn only(&self, replicas: &[Replica<'_>], order: &Order<'_>) -> Option<&(String, Waits)> {
        let mut claims = replicas.iter().flat_map(|replica| &replica.claims);
        let is_moving = self.written > 0 || claims.any(|claim| claim.state.is_in_motion());
        let is_for_a_pod = matches!(order.waits_for, Some(WaitsFor::Pod(_)));
        self.waits.first().filter(|_| !is_moving && !is_for_a_pod)
    }

    /// When somebody who waits may go on.
    pub fn due_times(&self, now: Seconds) -> impl Iterator<Item = Seconds> {
        let waits = self.waits.iter();
        waits.map(move |(_, waits)| waits.until.unwrap_or_else(|| now.saturating_add(RECHECK)))
    }
}

/// True iff the apply asks the driver for something: another size, or another attributes class.
#[must_use]
pub fn modifies(claim: &Claim, apply: &ApplyClaim) -> bool {
    let class = apply.volume_attributes_class_name.as_ref();
    apply.storage != claim.request || class.is_some() && class != claim.class.as_ref()
}

/// The modifications of a PVC in the last 24 hours, oldest first. What is still to come was noted by a clock that was set back
/// since: it keeps nobody waiting.
fn recent(times: &[Seconds], now: Seconds) -> Vec<Seconds> {
    let recent = |time: &&Seconds| **time <= now && now - **time < WINDOW;
    let mut times: Vec<Seconds> = times.iter().filter(recent).copied().collect();
    times.sort_unstable();
    times.dedup();
    times
}

impl Waits {
    /// Why and until when a PVC has to wait that was modified at these times, if it has to; `most` is how often its class lets
    /// it be in 24 hours.
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
                "has been modified {often} in 24 h, which is all that storage class {class} allows: goes on at {}",
                time::write(until).unwrap_or_default()
            ),
        })
    }
}

/// Notes on the PVC when it was modified, where its class has a budget for that: it is what any controller knows later.
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
    // The guard lets annotations change only with the revision. Whatever of an earlier write is asked for again was counted.
    if claim
        .labels
        .get(keys::REVISION)
        .is_none_or(|label| label != apply.revision.as_str())
    {
        times = recent(&times, snapshot.now);
        times.extend(modifies(claim, apply).then_some(snapshot.now));
    }
    if !times.is_empty() {
        apply.annotations.insert(keys::MODIFIED.to_owned(), write(&times));
    }
}

/// The annotation.
#[must_use]
pub fn write(times: &[Seconds]) -> String {
    let times: Vec<String> = times.iter().filter_map(|at| time::write(*at)).collect();
    times.join(",")
}

/// What the annotation says; what is no time in it is left out.
#[must_use]
pub fn read(text: &str) -> Vec<Seconds> {
    text.split(',').filter_map(|at| time::read(at.trim())).collect()
}

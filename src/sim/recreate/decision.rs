//! Calls of the real decision, with the view of a controller.

use super::bugs::AnewBug;
use super::objects::{AnewObjects, AnewSnapshot, AnewStep, MOST_SNAPSHOTS};
use super::process::KnownFaults;
use super::views::{class_text, desired, index_of, number_of, read, set, snapshot_name, staging, uid};
use super::world::AnewWorld;
use crate::api::Settings;
use crate::api::settings::ReCreate;
use crate::rollout::invariants::{
    Broken, DecidedFacts, l8_others_are_there, l8_reports_why, s4_deletes_as_asked, s4_evicts_only_for_marked,
};
use crate::rollout::machine::PlanFacts;
use crate::rollout::milestones::Milestones;
use crate::rollout::volume_snapshot::{
    EvictionAnswer, ReCreateAnswers, ReCreateQuestion, VolumeSnapshot, VolumeSnapshotAnswer,
};
use crate::rollout::{Action, Budgets, ClaimOf, Plan, Previous, Quotas, Refusal, Snapshot, plan};
use crate::templates::{Revision, RevisionLabel};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a controller whose last write failed knows.
const DENIED: &str = "failed: no";

/// The decision, and its results so far.
pub(super) struct AnewDecisions {
    pub(super) bug: AnewBug,
    settings: Arc<Settings>,
    known: FxHashMap<DecisionKey, AnewDecision>,
}

/// A decision: the facts after each answer, and the writes.
#[derive(Clone)]
pub(super) struct AnewDecision {
    pub(super) facts: Arc<[PlanFacts]>,
    pub(super) steps: Arc<[AnewStep]>,
}

/// Everything that a decision reads.
#[derive(Clone, PartialEq, Eq, Hash)]
struct DecisionKey {
    seen: AnewObjects,
    now: AnewObjects,
    snapshots: [Option<AnewSnapshot>; MOST_SNAPSHOTS],
    asks_snapshot: Option<u8>,
    staging: (Option<u8>, Option<u32>, Option<u32>),
    clock: (u32, u32),
    faults: KnownFaults,
    flags: [bool; 7],
    replicas: usize,
}

impl AnewDecisions {
    pub(super) fn with(bug: AnewBug) -> Self {
        Self {
            bug,
            settings: Arc::new(Settings {
                recreate: ReCreate::Allowed,
                ..Settings::default()
            }),
            known: FxHashMap::default(),
        }
    }

    /// What a controller that has seen these objects decides, and whether it may.
    pub(super) fn decide(
        &mut self,
        world: &AnewWorld,
        seen: &AnewObjects,
        faults: KnownFaults,
    ) -> Result<AnewDecision, Broken> {
        let written = world.staging.and_then(|staging| world.first_written(staging));
        let key = DecisionKey {
            seen: *seen,
            now: world.objects,
            snapshots: world.snapshots,
            asks_snapshot: world.asks_snapshot,
            staging: (world.staging, world.staged_at, written),
            clock: (world.stamp(), world.now()),
            faults,
            flags: [
                world.is_on,
                world.is_paused,
                world.is_budget_used,
                world.is_complete,
                world.is_parallel,
                world.has_report,
                world.grows,
            ],
            replicas: world.replicas,
        };
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let (mut facts, planned) = self.plan(world, seen, &key.faults);
        let steps = planned.actions.iter().filter_map(|action| step(action, world));
        let steps: Arc<[AnewStep]> = steps.filter_map(|step| self.bug.decides(step, seen)).collect();
        facts.iter_mut().for_each(|facts| {
            // A controller may reconcile at any time.
            (facts.actions, facts.requeue_after) = (steps.len(), None);
        });
        steps.iter().try_for_each(|step| check(world, *step))?;
        if steps.is_empty() {
            // A write whose reply was lost may be done.
            let (_, retried) = self.plan(world, seen, &key.faults.retried());
            let is_retried = retried.actions.iter().any(|action| step(action, world).is_some());
            reports_why(world, is_retried, &planned)?;
        }
        let facts = facts.into();
        let decision = AnewDecision { facts, steps };
        self.known.insert(key, decision.clone());
        Ok(decision)
    }

    /// Decides, with the answers to the questions.
    fn plan(&self, world: &AnewWorld, seen: &AnewObjects, faults: &KnownFaults) -> (Vec<PlanFacts>, Plan) {
        let mut snapshot = self.snapshot(world, seen, faults);
        let mut facts = Vec::new();
        loop {
            let mut view = snapshot.clone();
            self.bug.sees(&mut view);
            let planned = plan(&view);
            facts.push(PlanFacts::of(&planned));
            match &planned.asks {
                Some(question) => self.answer(world, question, &mut snapshot),
                None => return (facts, planned),
            }
        }
    }

    fn snapshot(&self, world: &AnewWorld, seen: &AnewObjects, faults: &KnownFaults) -> Snapshot {
        let set = set(world);
        let now = u64::from(world.now());
        let previous = world.has_report.then(|| Previous {
            revision: Revision::of(&[desired(world)]),
            staging: staging(1),
            started: Some(0),
            claims: BTreeMap::new(),
            moved: Some(now),
            ready: "RollingOut".to_owned(),
        });
        let fault = |waits: bool| (DENIED.to_owned(), if waits { now + 1 } else { now });
        let mut snapshot = Snapshot {
            now,
            settings: Arc::clone(&self.settings),
            halted: None,
            write_refused: faults.of_set.map(fault),
            not_evicted: faults.of_pod.map(fault),
            recreate: ReCreateAnswers {
                denied: faults.of_step.map(fault),
                ..ReCreateAnswers::default()
            },
            staged_before: None,
            claims: BTreeMap::new(),
            pods: BTreeMap::new(),
            set,
            siblings: Vec::new(),
            refusals: faults
                .denied
                .iter()
                .filter_map(|denied| refusal(world, *denied))
                .collect(),
            quotas: Quotas::Unchecked,
            budgets: Budgets::default(),
            previous,
            milestones: Milestones::default(),
            claim_events: BTreeMap::new(),
        };
        read(world, seen, &mut snapshot);
        snapshot
    }

    /// The API server answers at once.
    fn answer(&self, world: &AnewWorld, question: &ReCreateQuestion, snapshot: &mut Snapshot) {
        match question {
            ReCreateQuestion::Eviction { pod, uid } => {
                let is_there = index_of(pod)
                    .and_then(|index| world.objects.pods[index])
                    .is_some_and(|pod| pod.uid.to_string() == *uid);
                let answer = if is_there && !world.is_budget_used {
                    EvictionAnswer::Allowed
                } else {
                    EvictionAnswer::NotNow("no".to_owned())
                };
                snapshot.recreate.eviction = Some((uid.clone(), answer));
            }
            ReCreateQuestion::VolumeSnapshot(name) => {
                let mut found = world.snapshots.iter().flatten();
                let found = found.find(|one| {
                    let is_any = self.bug == AnewBug::EarlierSnapshot;
                    let staging = world.staging.filter(|_| is_any).unwrap_or(one.name.2);
                    let (index, of, _, number) = one.name;
                    snapshot_name(world, (index, of, staging, number)).as_deref() == Some(name)
                });
                let answer = found.map_or(VolumeSnapshotAnswer::Absent, |one| {
                    VolumeSnapshotAnswer::Found(VolumeSnapshot {
                        claim: format!("data-web-{}", one.name.0),
                        class: Some(class_text(one.class)),
                        taken: Some(one.taken.into()),
                        is_ready: one.is_ready,
                        ..VolumeSnapshot::default()
                    })
                });
                snapshot.recreate.volume_snapshots.insert(name.clone(), answer);
            }
            ReCreateQuestion::Live => {
                read(world, &world.objects, snapshot);
                snapshot.recreate.live = Some(Ok(()));
            }
        }
    }
}

/// A denied apply, by the uid of its PVC.
fn refusal(world: &AnewWorld, (index, number, of, waits): (usize, u8, u8, bool)) -> Option<(String, Refusal)> {
    let label = RevisionLabel {
        revision: Revision::of(&[desired(world)]),
        staging: staging(of)?,
    };
    let claim = world.objects.claims[index].filter(|claim| claim.number == number);
    let refusal = Refusal {
        label,
        resource_version: claim.map_or(0, |claim| claim.version).to_string(),
        cause: "Invalid".to_owned(),
        message: DENIED.to_owned(),
        attempts: 1,
        last: if waits { world.now().into() } else { 0 },
    };
    Some((uid(index, number), refusal))
}

fn step(action: &Action, world: &AnewWorld) -> Option<AnewStep> {
    let of = |claim: &ClaimOf| {
        let number = claim.uid.get(1..)?.parse().ok()?;
        let version = claim.resource_version.parse().ok()?;
        Some((
            index_of(&claim.name)?,
            number,
            version,
            number_of(&claim.label.staging)?,
        ))
    };
    Some(match action {
        Action::SetStagedAt(seen) => AnewStep::SeenAt(world.staging?, u32::try_from(seen.at).ok()?),
        Action::ApplyClaim(apply) => AnewStep::Apply(
            index_of(apply.name.as_str())?,
            apply.uid.get(1..)?.parse().ok()?,
            apply.resource_version.parse().ok()?,
            number_of(&apply.label.staging)?,
        ),
        Action::MarkClaim(claim) => {
            of(claim).map(|(index, number, version, staging)| AnewStep::Mark(index, number, version, staging))?
        }
        Action::UnmarkClaim(claim) => {
            of(claim).map(|(index, number, version, _)| AnewStep::Unmark(index, number, version))?
        }
        Action::DeleteClaim(claim) => {
            of(claim).map(|(index, number, version, staging)| AnewStep::Delete(index, number, version, staging))?
        }
        Action::Evict(evict) => AnewStep::Evict(index_of(&evict.pod)?, evict.uid.parse().ok()?, world.staging?),
        Action::TakeSnapshot(take) => {
            let (index, number, _, staging) = of(&take.of)?;
            let own = take.name.rsplit('-').next()?.parse().ok()?;
            let class = take.class.strip_prefix("class-")?.parse().ok()?;
            AnewStep::Snapshot((index, number, staging, own), class)
        }
        Action::SetStaged(_) => AnewStep::Complete,
        _ => return None,
    })
}

/// Whether a step may be decided, by what is so: who cannot take a step back reads before.
fn check(world: &AnewWorld, step: AnewStep) -> Result<(), Broken> {
    let index = match step {
        AnewStep::Delete(index, ..) | AnewStep::Evict(index, ..) => index,
        _ => return Ok(()),
    };
    let claim = world.objects.claims[index];
    let number = claim.map(|claim| claim.number);
    let known = DecidedFacts {
        is_on: world.is_on,
        is_paused: world.is_paused,
        has_begun: claim.is_some_and(|claim| claim.is_terminating && claim.mark == world.staging),
        may_be_evicted: !world.is_budget_used,
        asks_snapshot: world.asks_snapshot.is_some(),
        has_snapshot: number.is_some_and(|number| world.has_snapshot(index, number)),
        is_only: world.replicas == 1,
        others_are_there: (0..world.replicas).all(|other| other == index || world.is_there(other)),
    };
    match step {
        AnewStep::Delete(..) => s4_deletes_as_asked(known)?,
        _ => s4_evicts_only_for_marked(world.facts(index, world.staging))?,
    }
    l8_others_are_there(known)
}

/// Who waits reports why, also after a failure.
fn reports_why(world: &AnewWorld, is_denied: bool, planned: &Plan) -> Result<(), Broken> {
    if world.staging.is_none() || world.is_complete || !world.is_on {
        return Ok(());
    }
    let ready = &planned.progress.ready;
    let most = if is_denied { 10 } else { 300 };
    l8_reports_why(ready.holds, &ready.message, planned.requeue_after, most)
}

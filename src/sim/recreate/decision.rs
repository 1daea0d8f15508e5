//! Calls of the real decision, with the view of a controller.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::bugs::AnewBug;
use super::objects::{AnewClaim, AnewObjects, AnewPod, AnewStep, MOST, MadeFrom};
use super::world::AnewWorld;
use crate::api::Settings;
use crate::api::settings::ReCreate;
use crate::claims::{Claim, Owner};
use crate::json::{Map, Value};
use crate::rollout::invariants::{
    Broken, DecidedFacts, l8_others_are_there, s4_deletes_as_asked, s4_evicts_only_for_marked,
};
use crate::rollout::snapshot::PodManagement;
use crate::rollout::volume_snapshot::{
    EvictionAnswer, ReCreateAnswers, ReCreateQuestion, VolumeSnapshot, VolumeSnapshotAnswer,
};
use crate::rollout::{Action, Budgets, ClaimOf, PodView, Previous, Quotas, SetView, Snapshot, plan};
use crate::templates::{ClaimTemplate, Phase, Quantity, Revision, StagedChange, Staging, UpdatePolicy, keys};

/// When the change was staged; every later PVC is newer.
const STAGED: u64 = 5;
/// The time between two PVCs of a name.
const AGE: u64 = 10;
const NOW: u64 = 100_000;

/// The decision, and its results so far.
pub(super) struct AnewDecisions {
    pub(super) bug: AnewBug,
    old: ClaimTemplate,
    desired: ClaimTemplate,
    settings: Arc<Settings>,
    known: FxHashMap<DecisionKey, Option<AnewStep>>,
}

/// Everything that a decision reads.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct DecisionKey {
    seen: AnewObjects,
    pods: [Option<AnewPod>; MOST],
    snapshots: [Option<(u8, bool)>; MOST],
    flags: [bool; 6],
    replicas: usize,
}

fn template(class: &str) -> ClaimTemplate {
    let mut spec = Map::new();
    spec.insert("storageClassName".to_owned(), Value::String(class.into()));
    ClaimTemplate {
        name: "data".to_owned(),
        labels: Map::new(),
        annotations: Map::new(),
        storage: Some(Quantity::from_bytes(1 << 30)),
        volume_attributes_class_name: None,
        metadata: Map::new(),
        spec,
    }
}

impl AnewDecisions {
    pub(super) fn with(bug: AnewBug) -> Self {
        Self {
            bug,
            old: template("slow"),
            desired: template("fast"),
            settings: Arc::new(Settings {
                recreate: ReCreate::Allowed,
                ..Settings::default()
            }),
            known: FxHashMap::default(),
        }
    }

    /// The next step of a controller, and whether it may be decided.
    pub(super) fn decide(&mut self, world: &AnewWorld, place: usize) -> Result<Option<AnewStep>, Broken> {
        let Some(process) = world.processes[place] else {
            return Ok(None);
        };
        let key = DecisionKey {
            seen: process.seen,
            pods: world.objects.pods,
            snapshots: world.snapshots,
            flags: [
                world.asks_snapshot,
                world.is_on,
                world.is_paused,
                world.is_budget_used,
                world.is_complete,
                world.is_parallel,
            ],
            replicas: world.replicas,
        };
        if let Some(step) = self.known.get(&key) {
            return Ok(*step);
        }
        let step = self.plan(world, &process.seen);
        let step = step.and_then(|step| self.bug.decides(step, &process.seen));
        if let Some(step) = step {
            check(world, &process.seen, step)?;
        }
        self.known.insert(key, step);
        Ok(step)
    }

    fn plan(&self, world: &AnewWorld, seen: &AnewObjects) -> Option<AnewStep> {
        let mut snapshot = self.snapshot(world, seen);
        for _ in 0..4 {
            let mut view = snapshot.clone();
            self.bug.sees(&mut view);
            let planned = plan(&view);
            let Some(question) = planned.asks else {
                return planned.actions.iter().find_map(step);
            };
            answer(world, &question, &mut snapshot.recreate);
        }
        None
    }

    fn snapshot(&self, world: &AnewWorld, seen: &AnewObjects) -> Snapshot {
        let set = self.set(world);
        let label = set.staged.as_ref().map(StagedChange::label);
        let text = label.as_ref().map(ToString::to_string).unwrap_or_default();
        let previous = Previous {
            revision: Revision::of(set.wanted()),
            staging: label.map(|label| label.staging),
            started: Some(STAGED),
            claims: BTreeMap::new(),
            moved: NOW,
            ready: "RollingOut".to_owned(),
        };
        let claims = each(&seen.claims).map(|(index, claim)| {
            let claim = self.claim(index, claim, &set, &text);
            (claim.name.clone(), claim)
        });
        let pods = each(&seen.pods).map(|(index, pod)| (format!("web-{index}"), pod_view(index, pod)));
        Snapshot {
            now: NOW,
            settings: Arc::clone(&self.settings),
            halted: None,
            write_refused: None,
            not_evicted: None,
            recreate: ReCreateAnswers::default(),
            staged_at: None,
            claims: claims.collect(),
            pods: pods.collect(),
            set,
            siblings: Vec::new(),
            refusals: BTreeMap::new(),
            quotas: Quotas::Unchecked,
            budgets: Budgets::default(),
            previous: Some(previous),
        }
    }

    fn set(&self, world: &AnewWorld) -> SetView {
        let change = StagedChange {
            by: "alice".to_owned(),
            manager: "kubectl".to_owned(),
            phase: if world.is_complete {
                Phase::Complete
            } else {
                Phase::RollingOut
            },
            staging: Staging::of("set", "1", &Revision::of(std::slice::from_ref(&self.desired))),
            templates: vec![self.desired.clone()],
            uid: "set".to_owned(),
            update_policy: UpdatePolicy::ReCreate,
        };
        let labels = Map::from_unsorted(vec![("app".to_owned(), "web".to_owned())]).unwrap_or_default();
        SetView {
            name: "web".to_owned(),
            uid: "set".to_owned(),
            replicas: u32::try_from(world.replicas).unwrap_or_default(),
            match_labels: labels,
            live: vec![self.old.clone()],
            staged: Some(change),
            update_policy: Some(if world.is_on {
                UpdatePolicy::ReCreate
            } else {
                UpdatePolicy::InPlace
            }),
            paused: world.is_paused,
            recreate_snapshot: world.asks_snapshot.then(|| "any".to_owned()),
            status_is_current: true,
            update_revision: "web-1".to_owned(),
            pod_management: if world.is_parallel {
                PodManagement::Parallel
            } else {
                PodManagement::OrderedReady
            },
            ..SetView::default()
        }
    }

    fn claim(&self, index: usize, claim: &AnewClaim, set: &SetView, label: &str) -> Claim {
        let template = if claim.from == MadeFrom::Old {
            &self.old
        } else {
            &self.desired
        };
        let mut labels = if claim.is_foreign {
            Map::new()
        } else {
            set.match_labels.clone()
        };
        if claim.from == MadeFrom::Desired {
            labels.insert(keys::REVISION.to_owned(), label.to_owned());
        }
        let size = template.storage.unwrap_or_default();
        Claim {
            name: format!("data-web-{index}"),
            uid: uid(index, claim.number),
            resource_version: claim.version.to_string(),
            labels,
            terminating: claim.is_terminating,
            created: u64::from(claim.number) * AGE,
            deleted: claim.is_terminating.then(|| u64::from(claim.number) * AGE + STAGED),
            recreated_for: claim.is_marked.then(|| label.to_owned()),
            spec: Arc::new(template.spec.clone()),
            request: size,
            bound: claim.is_bound,
            capacity: claim.is_bound.then_some(size),
            ..Claim::default()
        }
    }
}

/// The uid of a PVC.
fn uid(index: usize, number: u8) -> String {
    format!("{index}{number:03}")
}

fn each<T>(all: &[Option<T>]) -> impl Iterator<Item = (usize, &T)> {
    all.iter()
        .enumerate()
        .filter_map(|(index, one)| Some((index, one.as_ref()?)))
}

fn pod_view(index: usize, pod: &AnewPod) -> PodView {
    PodView {
        name: format!("web-{index}"),
        uid: pod.uid.to_string(),
        controller: Some(Owner {
            kind: "StatefulSet".to_owned(),
            name: "web".to_owned(),
            uid: "set".to_owned(),
            controller: true,
            ..Owner::default()
        }),
        created: u64::from(pod.of) * AGE + 1,
        deleted: pod.is_terminating.then_some(NOW + 30),
        revision: "web-1".to_owned(),
        ready_since: pod.is_ready.then_some(NOW - 1),
        unready: None,
        claims: vec![format!("data-web-{index}")],
        volumes: vec!["data".to_owned()],
    }
}

/// The API server answers at once.
fn answer(world: &AnewWorld, question: &ReCreateQuestion, answers: &mut ReCreateAnswers) {
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
            answers.eviction = Some((uid.clone(), answer));
        }
        ReCreateQuestion::VolumeSnapshot(name) => {
            let found = each(&world.snapshots).find(|(index, (number, _))| {
                let claim = world
                    .processes
                    .iter()
                    .flatten()
                    .find_map(|process| process.seen.claims[*index]);
                claim.is_some() && name.starts_with(&uid(*index, *number))
            });
            let answer = found.map_or(VolumeSnapshotAnswer::Absent, |(index, (_, is_ready))| {
                VolumeSnapshotAnswer::Found(VolumeSnapshot {
                    claim: format!("data-web-{index}"),
                    is_ready: *is_ready,
                    ..VolumeSnapshot::default()
                })
            });
            answers.volume_snapshots.insert(name.clone(), answer);
        }
    }
}

fn index_of(name: &str) -> Option<usize> {
    name.rsplit('-').next()?.parse().ok()
}

fn step(action: &Action) -> Option<AnewStep> {
    let of = |claim: &ClaimOf| {
        let number = claim.uid.get(1..)?.parse().ok()?;
        Some((index_of(&claim.name)?, number, claim.resource_version.parse().ok()?))
    };
    Some(match action {
        Action::MarkClaim(claim) => of(claim).map(|(index, number, version)| AnewStep::Mark(index, number, version))?,
        Action::UnmarkClaim(claim) => {
            of(claim).map(|(index, number, version)| AnewStep::Unmark(index, number, version))?
        }
        Action::DeleteClaim(claim) => {
            of(claim).map(|(index, number, version)| AnewStep::Delete(index, number, version))?
        }
        Action::Evict(evict) => AnewStep::Evict(index_of(&evict.pod)?, evict.uid.parse().ok()?),
        Action::TakeSnapshot(take) => of(&take.of).map(|(index, number, _)| AnewStep::Snapshot(index, number))?,
        Action::SetStaged(_) => AnewStep::Complete,
        _ => return None,
    })
}

/// Whether a step may be decided, by what was known.
fn check(world: &AnewWorld, seen: &AnewObjects, step: AnewStep) -> Result<(), Broken> {
    let index = match step {
        AnewStep::Delete(index, ..) | AnewStep::Evict(index, _) => index,
        _ => return Ok(()),
    };
    let is_there = |other: usize| {
        let pod = seen.pods[other].is_some_and(|pod| {
            let claim = seen.claims[other]
                .is_some_and(|claim| claim.is_bound && !claim.is_terminating && claim.number <= pod.of);
            pod.is_ready && !pod.is_terminating && claim
        });
        other == index || pod
    };
    let claim = seen.claims[index];
    let number = claim.map(|claim| claim.number);
    let known = DecidedFacts {
        is_on: world.is_on,
        is_paused: world.is_paused,
        has_begun: claim.is_some_and(|claim| claim.is_terminating && claim.is_marked),
        may_be_evicted: !world.is_budget_used,
        asks_snapshot: world.asks_snapshot,
        has_snapshot: world.snapshots[index].is_some_and(|(of, is_ready)| Some(of) == number && is_ready),
        is_only: world.replicas == 1,
        others_are_there: (0..world.replicas).all(is_there),
    };
    match step {
        AnewStep::Delete(..) => s4_deletes_as_asked(known)?,
        _ => s4_evicts_only_for_marked(seen.facts(index))?,
    }
    l8_others_are_there(known)
}

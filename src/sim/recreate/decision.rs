//! Calls of the real decision, with the view of a controller.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::bugs::AnewBug;
use super::objects::{AnewClaim, AnewObjects, AnewPod, AnewSnapshot, AnewStep, MOST_SNAPSHOTS, MadeFrom, SnapshotName};
use super::world::AnewWorld;
use crate::api::Settings;
use crate::api::settings::ReCreate;
use crate::claims::{Claim, Owner};
use crate::json::{Map, Value};
use crate::rollout::invariants::{
    Broken, DecidedFacts, l8_others_are_there, l8_reports_why, s4_deletes_as_asked, s4_evicts_only_for_marked,
};
use crate::rollout::reached::Reached;
use crate::rollout::snapshot::{PodManagement, StagedAt};
use crate::rollout::snapshot_age;
use crate::rollout::volume_snapshot::{
    EvictionAnswer, ReCreateAnswers, ReCreateQuestion, VolumeSnapshot, VolumeSnapshotAnswer,
};
use crate::rollout::{Action, Budgets, ClaimOf, Plan, PodView, Previous, Quotas, SetView, Snapshot, plan};
use crate::templates::{
    ClaimTemplate, Phase, Quantity, Revision, RevisionLabel, StagedChange, Staging, UpdatePolicy, keys,
};

/// The identities of the stagings.
const STAGINGS: [&str; 3] = ["xz244", "xz245", "xz246"];

/// What a controller whose last write failed knows.
const DENIED: &str = "failed: no";

/// The decision, and its results so far.
pub(super) struct AnewDecisions {
    pub(super) bug: AnewBug,
    settings: Arc<Settings>,
    known: FxHashMap<DecisionKey, Option<AnewStep>>,
}

/// Everything that a decision reads.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct DecisionKey {
    seen: AnewObjects,
    now: AnewObjects,
    snapshots: [Option<AnewSnapshot>; MOST_SNAPSHOTS],
    asks_snapshot: Option<u8>,
    staging: (Option<u8>, Option<u32>, Option<u32>),
    clock: (u32, u32),
    flags: [bool; 8],
    replicas: usize,
}

fn template(class: &str, size: u64) -> ClaimTemplate {
    let mut spec = Map::new();
    spec.insert("storageClassName".to_owned(), Value::String(class.into()));
    ClaimTemplate {
        name: "data".to_owned(),
        labels: Map::new(),
        annotations: Map::new(),
        storage: Some(Quantity::from_bytes(size << 30)),
        volume_attributes_class_name: None,
        metadata: Map::new(),
        spec,
    }
}

fn desired(world: &AnewWorld) -> ClaimTemplate {
    if world.grows {
        template("slow", 2)
    } else {
        template("fast", 1)
    }
}

fn staging(number: u8) -> Option<Staging> {
    let text: &str = STAGINGS.get(usize::from(number))?;
    Staging::read(text)
}

/// The label of a staging as text, and back.
pub(super) fn label(revision: &Revision, number: u8) -> String {
    staging(number).map_or_else(String::new, |staging| {
        let revision = revision.clone();
        RevisionLabel { revision, staging }.to_string()
    })
}

fn number_of(staging: &Staging) -> Option<u8> {
    let place = STAGINGS.iter().position(|text| *text == staging.as_str())?;
    u8::try_from(place).ok()
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

    /// The next step of a controller, and whether it may be decided.
    pub(super) fn decide(&mut self, world: &AnewWorld, place: usize) -> Result<Option<AnewStep>, Broken> {
        let Some(process) = world.processes[place] else {
            return Ok(None);
        };
        let written = world.staging.and_then(|staging| world.first_written(staging));
        let key = DecisionKey {
            seen: process.seen,
            now: world.objects,
            snapshots: world.snapshots,
            asks_snapshot: world.asks_snapshot,
            staging: (world.staging, world.staged_at, written),
            clock: (world.stamp(), world.now()),
            flags: [
                process.is_denied,
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
        if let Some(step) = self.known.get(&key) {
            return Ok(*step);
        }
        let planned = self.plan(world, &process.seen, process.is_denied);
        let step = planned.actions.iter().find_map(|action| step(action, world));
        let step = step.and_then(|step| self.bug.decides(step, &process.seen));
        match step {
            Some(step) => check(world, step)?,
            None => reports_why(world, process.is_denied, &planned)?,
        }
        self.known.insert(key, step);
        Ok(step)
    }

    fn plan(&self, world: &AnewWorld, seen: &AnewObjects, is_denied: bool) -> Plan {
        let mut snapshot = self.snapshot(world, seen, is_denied);
        let mut asked = 0;
        loop {
            let mut view = snapshot.clone();
            self.bug.sees(&mut view);
            let planned = plan(&view);
            match &planned.asks {
                Some(question) if asked < 24 => self.answer(world, question, &mut snapshot),
                _ => return planned,
            }
            asked += 1;
        }
    }

    fn snapshot(&self, world: &AnewWorld, seen: &AnewObjects, is_denied: bool) -> Snapshot {
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
        let denied = is_denied.then(|| (DENIED.to_owned(), now + 10));
        let mut snapshot = Snapshot {
            now,
            settings: Arc::clone(&self.settings),
            halted: None,
            write_refused: denied.clone(),
            not_evicted: denied.clone(),
            recreate: ReCreateAnswers {
                denied,
                ..ReCreateAnswers::default()
            },
            staged_before: None,
            claims: BTreeMap::new(),
            pods: BTreeMap::new(),
            set,
            siblings: Vec::new(),
            refusals: BTreeMap::new(),
            quotas: Quotas::Unchecked,
            budgets: Budgets::default(),
            previous,
            reached: Reached::default(),
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

/// The PVCs and Pods of the snapshot are these.
fn read(world: &AnewWorld, objects: &AnewObjects, snapshot: &mut Snapshot) {
    let claims = each(&objects.claims).map(|(index, one)| {
        let claim = claim(world, index, one, &snapshot.set);
        (claim.name.clone(), claim)
    });
    snapshot.claims = claims.collect();
    let pods = each(&objects.pods).map(|(index, pod)| (format!("web-{index}"), pod_view(world, index, pod)));
    snapshot.pods = pods.collect();
}

fn set(world: &AnewWorld) -> SetView {
    let change = world.staging.and_then(staging).map(|staging| StagedChange {
        by: "alice".to_owned(),
        replicas: 0,
        manager: "kubectl".to_owned(),
        phase: if world.is_complete {
            Phase::Complete
        } else {
            Phase::RollingOut
        },
        staging,
        templates: vec![desired(world)],
        uid: "set".to_owned(),
        update_policy: UpdatePolicy::ReCreate,
    });
    let labels = Map::from_unsorted(vec![("app".to_owned(), "web".to_owned())]).unwrap_or_default();
    SetView {
        name: "web".to_owned(),
        uid: "set".to_owned(),
        replicas: u32::try_from(world.replicas).unwrap_or_default(),
        match_labels: labels,
        live: vec![template("slow", 1)],
        staged: change,
        staged_at: world.staged_at.map_or(StagedAt::Absent, |at| StagedAt::At(at.into())),
        update_policy: Some(if world.is_on {
            UpdatePolicy::ReCreate
        } else {
            UpdatePolicy::InPlace
        }),
        paused: world.is_paused,
        recreate_snapshot: world.asks_snapshot.map(class_text),
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

fn class_text(class: u8) -> String {
    format!("class-{class}")
}

fn claim(world: &AnewWorld, index: usize, claim: &AnewClaim, set: &SetView) -> Claim {
    let revision = Revision::of(&[desired(world)]);
    let template = match claim.from {
        MadeFrom::Old => template("slow", 1),
        MadeFrom::Restored => template("other", 1),
        MadeFrom::Desired(_) => desired(world),
    };
    let mut labels = set.match_labels.clone();
    if let MadeFrom::Desired(staging) = claim.from {
        labels.insert(keys::REVISION.to_owned(), label(&revision, staging));
    }
    let size = template.storage.unwrap_or_default();
    let created = u64::from(claim.created);
    Claim {
        name: format!("data-web-{index}"),
        uid: uid(index, claim.number),
        resource_version: claim.version.to_string(),
        labels,
        owners: claim.is_foreign.then(stranger).into_iter().collect(),
        terminating: claim.is_terminating,
        created,
        // After the Pod that uses it was created.
        deleted: claim.is_terminating.then_some(created + 2),
        recreated_for: claim.mark.map(|staging| label(&revision, staging)),
        spec: Arc::new(template.spec.clone()),
        request: size,
        bound: claim.is_bound,
        capacity: claim.is_bound.then_some(size),
        ..Claim::default()
    }
}

/// The owner of a PVC that somebody has taken over.
fn stranger() -> Owner {
    Owner {
        kind: "Backup".to_owned(),
        name: "b".to_owned(),
        uid: "b-uid".to_owned(),
        controller: true,
        ..Owner::default()
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

fn pod_view(world: &AnewWorld, index: usize, pod: &AnewPod) -> PodView {
    let now = u64::from(world.now());
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
        created: u64::from(pod.of.1) + 1,
        deleted: pod.is_terminating.then_some(now + 30),
        revision: "web-1".to_owned(),
        ready_since: pod.is_ready.then_some(now - 1),
        unready: None,
        claims: vec![format!("data-web-{index}")],
        volumes: vec!["data".to_owned()],
    }
}

/// The name of a VolumeSnapshot, as the decision makes it.
fn snapshot_name(world: &AnewWorld, (index, of, staged, number): SnapshotName) -> Option<String> {
    let claim = Claim {
        uid: uid(index, of),
        ..Claim::default()
    };
    let revision = Revision::of(&[desired(world)]);
    let staging = staging(staged)?;
    let label = RevisionLabel { revision, staging };
    Some(snapshot_age::name(&claim, &label, number.into()))
}

fn index_of(name: &str) -> Option<usize> {
    name.rsplit('-').next()?.parse().ok()
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

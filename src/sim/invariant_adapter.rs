//! The adapter to the invariants: facts about the objects of the model.

use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;

use rustc_hash::FxHasher;

use super::api::Api;
use super::controller_view::ControllerView;
use super::objects::{
    ClaimObject, ClaimOwner, ModelTarget, ORDINALS, PodHealth, PodObject, ReportObject, ResizeState, SLOTS, SetObject,
    Version, Want, place, slot,
};
use super::plan_decision::PlanDecision;
use super::target::{target_in_effect, target_in_force};
use super::write::{DenialCause, Write};
use crate::rollout::invariants::{
    Broken, ClaimFacts, Id, PodFacts, Scene, SetFacts, StatusFacts, Wanted, l4_created_as_staged, s6_in_turn, s7_gate,
    s7_keeps_no_other, s12_reads_nothing, s13_fits, s19_completes, s19_reports, s19_takes_back, s19_waits,
};

/// Facts, owned where a [`Scene`] can borrow them.
pub(crate) struct SceneFacts {
    set: Option<SetFacts>,
    wanted: Vec<Wanted>,
    claims: Vec<ClaimFacts>,
    pods: Vec<PodFacts>,
    room: Option<u64>,
}

/// A target as a number; equal targets have equal numbers.
pub(crate) fn id(target: &ModelTarget) -> Id {
    let parts = |want: &Want| [want.size, want.class, want.storage_class << 4 | want.tier];
    let wants = target.wants.iter().flat_map(parts);
    let number = u64::from(target.templates) << 8 | u64::from(target.staging);
    wants.fold(number, |id, part| id << 8 | u64::from(part))
}

pub(super) fn class(class: u8) -> Option<Id> {
    (class != 0).then(|| class.into())
}

impl SceneFacts {
    /// Facts about the stored objects.
    pub(crate) fn of(api: &Api, refused: &dyn Fn(usize) -> bool) -> Self {
        let target = target_in_force(api);
        let wanted = target.or(api.set.map(|set| set.spec.live)).unwrap_or_default();
        let number = |number: usize| u32::try_from(number).unwrap_or(0);
        let claims = (0..SLOTS).filter_map(|slot| {
            let (claim, (template, ordinal)) = (api.claims[slot]?, place(slot));
            if api.set.is_some() && template >= wanted.wants().len() {
                return None;
            }
            Some(ClaimFacts {
                template: number(template),
                ordinal: number(ordinal),
                uid: claim.uid.into(),
                version: claim.version.into(),
                revision: revision_of(&claim, template),
                request: claim.request.into(),
                allocated: claim.resize_to.into(),
                our_size: claim.our_size,
                capacity: claim.capacity.into(),
                class: class(claim.class),
                current_class: class(claim.current_class),
                storage_class: class(claim.storage_class),
                bound: claim.bound,
                terminating: claim.terminating,
                ours: is_ours(api, slot),
                mounted_by_another: is_mounted_by_another(api, slot),
                ambiguous: template == 1 && api.sibling,
                on_the_node: claim.resize == ResizeState::Node,
                refused: refused(slot),
                infeasible: claim.is_infeasible(),
                // An error about a previous target does not count.
                stuck: if claim.is_at(target, template) {
                    claim.is_infeasible() || claim.asks_for_less(target, template)
                } else {
                    refused(slot)
                },
            })
        });
        let pods = api.pods.iter().enumerate().filter_map(|(ordinal, pod)| {
            let pod = pod.as_ref()?;
            Some(pod_facts(api, number(ordinal), pod))
        });
        Self {
            set: api.set.as_ref().map(|set| set_facts(set, target)),
            wanted: wanted.wants().iter().map(wanted_of).collect(),
            claims: claims.collect(),
            pods: pods.collect(),
            room: api.room().map(u64::from),
        }
    }

    /// Claims that the decision saw with a previous Pod as owner are not ours; stored ones may have been seen before.
    fn owned_by_previous_pods(&mut self, seen: &ControllerView) {
        for claim in &mut self.claims {
            let (slot, ordinal) = place_of(claim);
            if let Some(ClaimOwner::Pod(uid)) = seen.claims[slot].map(|claim| claim.owner) {
                let pod = seen.pods[ordinal].filter(|pod| pod.set == seen.set.uid);
                claim.ours &= pod.is_some_and(|pod| pod.uid == uid);
            }
        }
    }

    /// Claims that others changed during the last apply, as a controller knows. They are stuck and not updated, even
    /// if the label was stored: a webhook may keep a size that was to be taken back.
    pub(crate) fn changed_by_others(&mut self, changed: &dyn Fn(usize) -> bool) {
        for claim in &mut self.claims {
            if changed(place_of(claim).0) {
                (claim.stuck, claim.revision) = (true, claim.revision.map(|_| Id::MAX));
            }
        }
    }

    pub(crate) fn scene(&self) -> Scene<'_> {
        Scene {
            set: self.set,
            wanted: &self.wanted,
            claims: &self.claims,
            pods: &self.pods,
            room: self.room,
        }
    }
}

fn wanted_of(want: &Want) -> Wanted {
    Wanted {
        size: want.size.into(),
        class: class(want.class),
        storage_class: class(want.storage_class),
    }
}

fn pod_facts(api: &Api, ordinal: u32, pod: &PodObject) -> PodFacts {
    let min_ready = api.set.map_or(0, |set| set.min_ready());
    PodFacts {
        ordinal,
        ours: api.set.is_some_and(|set| set.uid == pod.set),
        revision: pod.image.into(),
        going: pod.terminating,
        ready: !pod.terminating && pod.ready.is_some(),
        available: !pod.terminating && pod.ready.is_some_and(|age| age >= min_ready),
        ended: pod.health == PodHealth::Failed,
        disrupted: pod.health == PodHealth::Disrupted,
        after_staging: api.set.is_some_and(|set| pod.age < set.since_staged),
    }
}

/// The slot and the ordinal of a claim.
fn place_of(claim: &ClaimFacts) -> (usize, usize) {
    let number = |number: u32| usize::try_from(number).unwrap_or(0);
    let (template, ordinal) = (number(claim.template), number(claim.ordinal));
    (slot(template, ordinal), ordinal)
}

/// The revision of a claim. A partly stored apply of ours has none of the targets.
fn revision_of(claim: &ClaimObject, template: usize) -> Option<Id> {
    let revision = claim.revision?;
    let is_whole = claim.is_at(Some(revision), template);
    Some(if is_whole { id(&revision) } else { Id::MAX })
}

fn set_facts(set: &SetObject, target: Option<ModelTarget>) -> SetFacts {
    let change = set.staged_change();
    SetFacts {
        uid: set.uid.into(),
        terminating: set.terminating,
        first_ordinal: 0,
        replicas: set.spec.replicas.into(),
        followed: set.followed().into(),
        target: target.as_ref().map(id),
        unreadable: set.unreadable().is_some(),
        complete: change.is_some_and(|change| change.complete),
        lock_step: !set.spec.asynchronous && !set.spec.on_delete,
        paused: set.spec.paused,
        by_hand: set.spec.on_delete,
        partition: set.spec.partition.into(),
        parallel: set.spec.parallel,
        max_in_motion: set.spec.in_motion.into(),
        pod_revision: set.spec.image.into(),
        status: StatusFacts {
            observed: set.status.observed,
            update: set.status.update.into(),
            current: set.status.current.into(),
            replicas: set.status.replicas.into(),
            ready: set.status.ready.into(),
            updated: set.status.updated.into(),
        },
    }
}

/// The selector matches, and no other controller owns the claim.
pub(crate) fn is_ours(api: &Api, slot: usize) -> bool {
    let (Some(claim), Some(set)) = (api.claims[slot], api.set) else {
        return false;
    };
    let pod = api.pods[place(slot).1];
    match claim.owner {
        ClaimOwner::None => true,
        ClaimOwner::Set(uid) => uid == set.uid,
        // A deleted Pod, or a Pod of another set, is noticed later.
        ClaimOwner::Pod(uid) => pod.is_none_or(|pod| pod.uid == uid || pod.set == set.uid),
        ClaimOwner::Other => false,
    }
}

/// Whether a Pod of another set mounts the claim.
fn is_mounted_by_another(api: &Api, slot: usize) -> bool {
    let pod = api.pods[place(slot).1];
    let anothers = pod.is_some_and(|pod| pod.set != 0 && api.set.is_none_or(|set| set.uid != pod.set));
    api.foreign_mounts & 1 << slot != 0 || anothers
}

/// Checks deletions of Pods by the StatefulSet controller, and denials of them.
pub(crate) fn gate(before: &Api, after: &Api) -> Result<(), Broken> {
    if !before.policy {
        return Ok(());
    }
    let judge = |ordinal: usize, judge: fn(&Scene<'_>, u32) -> Result<(), Broken>| {
        judge(
            &SceneFacts::of(before, &|_| false).scene(),
            u32::try_from(ordinal).unwrap_or(0),
        )
    };
    let is_going = |api: &Api, ordinal: usize| api.pods[ordinal].is_some_and(|pod| pod.terminating);
    for ordinal in (0..ORDINALS).filter(|ordinal| is_going(after, *ordinal) && !is_going(before, *ordinal)) {
        judge(ordinal, s7_gate)?;
    }
    match after.backoff.filter(|_| before.backoff.is_none()) {
        Some(backoff) => judge(backoff.ordinal.into(), s7_keeps_no_other),
        None => Ok(()),
    }
}

/// Checks the claims that the StatefulSet controller has created.
pub(crate) fn created(before: &Api, after: &Api) -> Result<(), Broken> {
    if Arc::ptr_eq(&before.claims, &after.claims) || !before.policy {
        return Ok(());
    }
    let (Some(set), Some(target)) = (before.set, target_in_effect(before)) else {
        return Ok(());
    };
    let facts = SceneFacts::of(after, &|_| false);
    let is_new = |claim: &&ClaimFacts| {
        let (slot, ordinal) = place_of(claim);
        before.claims[slot].is_none() && ordinal >= usize::from(set.spec.partition) && !claim.ambiguous
    };
    facts.claims.iter().filter(is_new).try_for_each(|claim| {
        let want = target.wants[place(place_of(claim).0).0];
        l4_created_as_staged(claim, wanted_of(&want), id(&target))
    })
}

/// Checks how tools read the status that the StatefulSet controller has written.
pub(crate) fn tools(api: &Api) -> Result<(), Broken> {
    s19_waits(&SceneFacts::of(api, &|_| false).scene())
}

/// Checks the order of the decided writes and the decided report, based on the view.
pub(crate) fn decision(seen: &ControllerView, decision: &PlanDecision) -> Result<(), Broken> {
    let mut applies = decision.writes.iter().filter_map(|write| match write {
        Write::Apply(apply) => Some(place(apply.slot.into()).1),
        _ => None,
    });
    let first = applies.next();
    let phase = decision.writes.iter().find_map(|write| match write {
        Write::StagedChange { change, .. } => change.map(|change| change.complete),
        _ => None,
    });
    if first.is_none() && !decision.ready && phase != Some(true) {
        return Ok(());
    }
    let api = Api {
        set: Some(seen.set),
        claims: seen.claims.into(),
        pods: seen.pods.into(),
        foreign_mounts: seen.foreign_mounts,
        sibling: seen.sibling,
        settings: seen.settings,
        ..Api::new()
    };
    let mut facts = SceneFacts::of(&api, &|slot| seen.denials[slot].is_some());
    facts.owned_by_previous_pods(seen);
    facts.changed_by_others(&|slot| {
        seen.denials[slot].is_some_and(|denial| denial.same && denial.cause == DenialCause::Changed)
    });
    // Nothing fits into a quota that was not read.
    facts.room = seen.room.map_or(Some(0), |room| room.map(u64::from));
    s19_reports(&facts.scene(), decision.ready)?;
    if phase == Some(true) {
        s19_completes(&facts.scene())?;
    }
    if first.is_some() {
        s13_fits(&facts.scene())?;
    }
    let mut ordinals = first.into_iter().chain(applies);
    ordinals.try_for_each(|ordinal| {
        let ordinal = u32::try_from(ordinal).unwrap_or(0);
        s6_in_turn(&facts.scene(), ordinal)?;
        s19_takes_back(&facts.scene(), ordinal, phase == Some(false))
    })
}

/// Checks that the claims of the set are read, although nothing was left to do for it at some time.
pub(crate) fn reads(
    settled: Option<(SetObject, Version)>,
    set: Option<SetObject>,
    report: Option<ReportObject>,
) -> Result<(), Broken> {
    let basis = |set: &SetObject, report: Version| {
        let mut hasher = FxHasher::default();
        (set.basis(), report).hash(&mut hasher);
        hasher.finish()
    };
    let now = set.map(|set| basis(&set, report.map_or(0, |report| report.version)));
    s12_reads_nothing(settled.map(|(set, report)| basis(&set, report)), now.unwrap_or(0))
}

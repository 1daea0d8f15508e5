//! The adapter to `plan`: from the view of a controller to a [`Snapshot`](crate::rollout::Snapshot), and from
//! [`Action`]s back.
//!
//! Uids and versions are renamed on the way in, so that questions do not depend on them. On the way out they get
//! their real values: a write for the wrong object stays one.

use std::collections::BTreeMap;
use std::hash::BuildHasher as _;

use rustc_hash::FxBuildHasher;

use super::controller_view::{ControllerView, NOW, SEEN, STARTED, VERSION, claim_uid};
use super::coverage::Coverage;
use super::names::{TIER, claim_name, number, whole_gi};
use super::objects::{Age, ClaimObject, SLOTS, SetObject, StagedAnnotation, Uid, Version};
use super::plan_decision::PlanDecision;
use super::planted::Planted;
use super::snapshot::snapshot;
use super::texts::Texts;
use super::write::{Apply, Write};
use crate::api::ReadyReason;
use crate::api::reasons::Kind;
use crate::gate::{ClaimState, Target};
use crate::rollout;
use crate::rollout::milestones::Milestones;
use crate::rollout::{Action, Progress, Reason, plan};
use crate::templates::{Phase, Revision};

/// A write with real uids and versions.
pub(crate) fn real(
    write: Write,
    set: &SetObject,
    claims: &[Option<ClaimObject>; SLOTS],
    planted: Option<Planted>,
) -> Write {
    let of_set = |uid: Option<Uid>| uid.map(|uid| if uid == SEEN { set.uid } else { Uid::MAX });
    let set_version = |version: Option<Version>| version.map(|seen| if seen == VERSION { set.version } else { 0 });
    let write = match write {
        Write::Apply(apply) => {
            let claim = claims[usize::from(apply.slot)];
            let named = |uid| {
                claim
                    .filter(|_| uid == claim_uid(apply.slot.into()))
                    .map_or(Uid::MAX, |claim| claim.uid)
            };
            let version = claim.map_or(0, |claim| claim.version);
            Write::Apply(Apply {
                uid: apply.uid.map(named),
                version: apply.version.map(|seen| if seen == VERSION { version } else { 0 }),
                ..apply
            })
        }
        Write::StagedChange { uid, version, change } => Write::StagedChange {
            uid: of_set(uid),
            version: set_version(version),
            change: change.map(|change| StagedAnnotation {
                uid: if change.uid == SEEN { set.uid } else { change.uid },
                ..change
            }),
        },
        Write::Ready { uid, version, ready } => Write::Ready {
            uid: of_set(uid),
            version: set_version(version),
            ready,
        },
        Write::Partition { uid, version, to } => Write::Partition {
            uid: of_set(uid),
            version: set_version(version),
            to,
        },
        other => other,
    };
    planted.map_or(write, |planted| planted.sends(write))
}

/// Calls `plan`.
pub(crate) fn ask(texts: &mut Texts, seen: &ControllerView, silent: bool) -> PlanDecision {
    let snapshot = snapshot(texts, seen);
    let plan = plan(&snapshot);
    let mut coverage = Coverage::of(&snapshot, &plan);
    let mut writes = Vec::new();
    let mut events = Vec::new();
    for action in &plan.actions {
        coverage.acted(action);
        match action {
            Action::Event(event) => {
                let slot = event.claim.as_ref().and_then(|(name, _)| slot_of(name));
                let text = texts.number(event.message.clone(), || (blank(), event.message.clone()));
                events.push((event.reason, slot, text));
            }
            action => writes.extend(write(texts, action)),
        }
    }
    let begins = events.iter().any(|(reason, ..)| *reason == Reason::ClaimsStaged);
    let content = if silent { 0 } else { report(texts, &plan.progress) };
    PlanDecision {
        writes,
        events,
        content,
        requeue: plan
            .requeue_after
            .map(|requeue| Age::try_from(requeue).unwrap_or(Age::MAX)),
        settled: plan.settled,
        asks_quotas: plan.asks_quotas,
        begins: begins && !silent,
        states: plan.progress.counts.map(|_| states(&plan.progress)),
        reason: FxBuildHasher.hash_one(of_rollout(plan.progress.ready.reason)),
        stuck: stuck(&plan.progress),
        ready: plan.progress.ready.holds,
        rolls_out: Target::of(&snapshot.set, &snapshot.settings).is_ok(),
        coverage,
        judged: Ok(()),
    }
}

/// The state of the rollout alone: waiting is no other state than moving, and what a claim needs is reported with the claim.
fn of_rollout(reason: &str) -> &str {
    let of_claim = [
        ReadyReason::ClaimRefused,
        ReadyReason::ClaimForeign,
        ReadyReason::ClaimInfeasible,
    ];
    match ReadyReason::read(reason) {
        Some(known) if of_claim.contains(&known) || matches!(known.kind(), Kind::Moving | Kind::Waiting) => {
            ReadyReason::RollingOut.as_str()
        }
        _ => reason,
    }
}

fn states(progress: &Progress) -> [u8; SLOTS] {
    let mut states = [0; SLOTS];
    for claim in &progress.claims {
        if let Some(slot) = slot_of(&claim.name) {
            // A driver expands a volume and changes its class in any order.
            let state = match claim.state {
                ClaimState::NodeExpanding | ClaimState::Modifying => ClaimState::Expanding,
                state => state,
            };
            states[usize::from(slot)] = state as u8 + 1;
        }
    }
    states
}

fn stuck(progress: &Progress) -> u16 {
    let stuck = progress.claims.iter().filter(|claim| claim.state.is_stalled());
    let slots = stuck.filter_map(|claim| slot_of(&claim.name));
    slots.fold(0, |stuck, slot| stuck | 1 << slot)
}

fn blank() -> rollout::Previous {
    rollout::Previous {
        revision: Revision::from_text(""),
        staging: None,
        started: None,
        claims: BTreeMap::new(),
        moved: Some(NOW),
        ready: String::new(),
    }
}

/// The number of a report. The ClaimRollout keeps what the next decision reads of it.
fn report(texts: &mut Texts, progress: &Progress) -> u32 {
    let known = |progress: &Progress| {
        let claims = progress.claims.iter().map(|claim| {
            let state = claim.state.as_str().to_owned();
            (claim.name.clone(), (state, claim.reason.clone(), claim.message.clone()))
        });
        let previous = rollout::Previous {
            revision: progress.update_revision.clone(),
            staging: progress.staging.clone(),
            started: Some(STARTED),
            claims: claims.collect(),
            moved: Some(NOW),
            ready: progress.ready.reason.to_owned(),
        };
        let claims = progress
            .claims
            .iter()
            .map(|claim| format!("{} {}", claim.name, claim.state));
        let claims: Vec<String> = claims.collect();
        (previous, format!("{}; {}", progress.ready.reason, claims.join(", ")))
    };
    // The start time is kept beside the number.
    let timeless = Progress {
        started: 0,
        moved: None,
        milestones: Milestones::default(),
        ..progress.clone()
    };
    texts.number(format!("{timeless:?}"), || known(progress))
}

fn slot_of(name: &str) -> Option<u8> {
    let slots = 0..SLOTS;
    let slot = slots.into_iter().find(|slot| claim_name(*slot) == name)?;
    u8::try_from(slot).ok()
}

fn parse<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.trim_start_matches('u').parse().ok()
}

/// An action as a write of the model.
fn write(texts: &mut Texts, action: &Action) -> Option<Write> {
    Some(match action {
        Action::ApplyClaim(apply) => Write::Apply(Apply {
            slot: slot_of(apply.name.as_str())?,
            uid: parse(&apply.uid),
            version: parse(&apply.resource_version),
            size: whole_gi(&apply.storage),
            class: number(apply.volume_attributes_class_name.as_deref(), "class-"),
            tier: number(apply.labels.get(TIER).map(String::as_str), "t"),
            storage_class: 0,
            revision: texts.names.at(&apply.label)?,
            others: u8::try_from(apply.labels.keys().filter(|key| *key != TIER).count() + apply.annotations.len())
                .ok()?,
            taken_back: apply.taken_back.is_some(),
        }),
        Action::SetStaged(set) => Write::StagedChange {
            uid: parse(&set.set.uid),
            version: parse(&set.set.resource_version),
            change: match &set.change {
                Some(change) => Some(StagedAnnotation {
                    target: texts.names.at(&change.label())?,
                    complete: change.phase == Phase::Complete,
                    replicas: u8::try_from(change.replicas).ok()?,
                    policy: change.update_policy,
                    uid: parse(&change.uid)?,
                    newer: false,
                }),
                None => None,
            },
        },
        Action::SetReady(set) => Write::Ready {
            uid: parse(&set.set.uid),
            version: parse(&set.set.resource_version),
            ready: match &set.ready {
                Some(ready) => Some((
                    texts.names.target(ready.revision.as_str())?,
                    u8::try_from(ready.ordinal).ok()?,
                )),
                None => None,
            },
        },
        Action::Evict(_)
        | Action::SetStagedAt(_)
        | Action::HoldStaged(_)
        | Action::TakeSnapshot(_)
        | Action::MarkClaim(_)
        | Action::UnmarkClaim(_)
        | Action::DeleteClaim(_)
        | Action::Event(_) => return None,
    })
}

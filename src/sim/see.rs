//! The adapter to decision two: from what a controller sees in the model to a [`Snapshot`], and from [`Action`]s back.
//!
//! Uids and versions are renamed on the way in: what is seen of one claim is the same question whatever its uid is. On the
//! way out they are what they stood for, so a write of the decision for the wrong object is one in the model, too.

use std::collections::BTreeMap;

use super::api::{Apply, Write};
use super::coverage::Coverage;
use super::mind::{Decision, Mind};
use super::names::{self, TIER, number, whole_gi};
use super::objects::{Age, Claim, SLOTS, Set, StagedChange, Uid, Version};
use super::planted::Planted;
use super::seen::{NOW, SEEN, Seen, VERSION, WISHED, claim_uid};
use super::snapshot::{claim_name, snapshot};
use crate::rollout::{self, Action, Progress, Reason, Target, plan};
use crate::templates::{Phase, Revision};

/// A write with the uids and versions that were seen.
pub(crate) fn real(write: Write, set: &Set, claims: &[Option<Claim>; SLOTS], planted: Option<Planted>) -> Write {
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
            change: change.map(|change| StagedChange {
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

/// Asks `plan`.
pub(crate) fn ask(mind: &mut Mind, seen: &Seen) -> Decision {
    let snapshot = snapshot(mind, seen);
    let plan = plan(&snapshot);
    let mut coverage = Coverage::of(&snapshot, &plan);
    let mut writes = Vec::new();
    let mut tells = Vec::new();
    for action in &plan.actions {
        coverage.acted(action);
        match action {
            Action::Event(event) => {
                let slot = event.claim.as_ref().and_then(|(name, _)| slot_of(name));
                let text = mind.number(event.message.clone(), || (blank(), event.message.clone()));
                tells.push((event.reason, slot, text));
            }
            action => writes.extend(write(mind, action)),
        }
    }
    let begins = tells.iter().any(|(reason, ..)| *reason == Reason::ClaimsStaged);
    let says = if mind.silent { 0 } else { report(mind, &plan.progress) };
    Decision {
        writes,
        tells,
        says,
        requeue: plan
            .requeue_after
            .map(|requeue| Age::try_from(requeue).unwrap_or(Age::MAX)),
        settled: plan.settled,
        begins: begins && !mind.silent,
        stuck: stuck(&plan.progress),
        rolls_out: Target::of(&snapshot.set, &snapshot.settings).is_ok(),
        coverage,
        judged: Ok(()),
    }
}

fn stuck(progress: &Progress) -> u16 {
    let stuck = progress.claims.iter().filter(|claim| claim.state.is_stalled());
    let slots = stuck.filter_map(|claim| slot_of(&claim.name));
    slots.fold(0, |stuck, slot| stuck | 1 << slot)
}

fn blank() -> rollout::Previous {
    rollout::Previous {
        revision: Revision::from_text(""),
        started: None,
        claims: BTreeMap::new(),
        moved: NOW,
        ready: String::new(),
    }
}

/// The number of a progress. What is known of it afterwards is what the ClaimRollout holds.
fn report(mind: &mut Mind, progress: &Progress) -> u32 {
    let known = |progress: &Progress| {
        let claims = progress.claims.iter().map(|claim| {
            let state = claim.state.as_str().to_owned();
            (claim.name.clone(), (state, claim.reason.clone(), claim.message.clone()))
        });
        let previous = rollout::Previous {
            revision: progress.update_revision.clone(),
            started: Some(WISHED),
            claims: claims.collect(),
            moved: NOW,
            ready: progress.ready.reason.to_owned(),
        };
        let claims = progress
            .claims
            .iter()
            .map(|claim| format!("{} {}", claim.name, claim.state));
        let claims: Vec<String> = claims.collect();
        (previous, format!("{}; {}", progress.ready.reason, claims.join(", ")))
    };
    // When it was first seen is kept beside it.
    let timeless = Progress {
        started: 0,
        ..progress.clone()
    };
    mind.number(format!("{timeless:?}"), || known(progress))
}

fn slot_of(name: &str) -> Option<u8> {
    let slots = 0..SLOTS;
    let slot = slots.into_iter().find(|slot| claim_name(*slot) == name)?;
    u8::try_from(slot).ok()
}

fn parse<T: std::str::FromStr>(text: &str) -> Option<T> {
    text.trim_start_matches('u').parse().ok()
}

/// A write of the decision in the words of the model.
fn write(mind: &mut Mind, action: &Action) -> Option<Write> {
    Some(match action {
        Action::ApplyClaim(apply) => Write::Apply(Apply {
            slot: slot_of(apply.name.as_str())?,
            uid: parse(&apply.uid),
            version: parse(&apply.resource_version),
            size: whole_gi(&apply.storage),
            class: number(apply.volume_attributes_class_name.as_deref(), "class-"),
            tier: number(apply.labels.get(TIER).map(String::as_str), "t"),
            revision: mind.names.target(apply.revision.as_str())?,
            others: u8::try_from(apply.labels.keys().filter(|key| *key != TIER).count() + apply.annotations.len())
                .ok()?,
            taken_back: apply.taken_back.is_some(),
        }),
        Action::SetStaged(set) => Write::StagedChange {
            uid: parse(&set.set_uid),
            version: parse(&set.resource_version),
            change: match &set.change {
                Some(change) => Some(StagedChange {
                    target: names::target(&change.templates),
                    complete: change.phase == Phase::Complete,
                    policy: change.update_policy,
                    uid: parse(&change.uid)?,
                }),
                None => None,
            },
        },
        Action::SetReady(set) => Write::Ready {
            uid: parse(&set.set_uid),
            version: parse(&set.resource_version),
            ready: match &set.ready {
                Some(ready) => Some((
                    mind.names.target(ready.revision.as_str())?,
                    u8::try_from(ready.ordinal).ok()?,
                )),
                None => None,
            },
        },
        Action::Evict(_) | Action::Event(_) => return None,
    })
}

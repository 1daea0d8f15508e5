//! Bugs of decision two, and of what is sent.

use super::Planted;
use crate::sim::api::{Apply, Write};
use crate::sim::mind::Decision;
use crate::sim::objects::{Claim, ORDINALS, Owner, Resize, SLOTS, Share, StagedChange, Want, place, slot};
use crate::sim::seen::{Refused, SEEN, Seen};
use crate::sim::watch::Views;

impl Planted {
    /// What is seen is bent.
    pub(crate) fn sees(self, seen: &mut Seen) {
        let target = seen.set.staged_change().map(|change| change.target);
        let claims = seen.claims.iter_mut().flatten();
        match self {
            Self::ComparesSpelling => {
                let largest = target.map_or(0, |target| {
                    target.wants().iter().map(|want| want.size).max().unwrap_or(0)
                });
                claims
                    .filter(|claim| claim.request > largest)
                    .for_each(|claim| claim.revision = None);
            }
            Self::IgnoresTerminating => claims.for_each(|claim| claim.terminating = false),
            Self::OwnerByName => {
                claims.for_each(|claim| (claim.selected, claim.owner) = (true, Owner::Nobody));
                (seen.strangers, seen.sibling) = (0, false);
            }
            Self::StagedOfAnotherSet => {
                if let Some(change) = &mut seen.set.spec.staged {
                    change.uid = SEEN;
                }
            }
            Self::OneStopsAll => seen.set.spec.parallel = false,
            Self::WaitsForCapacity => {
                claims
                    .filter(|claim| claim.resize == Resize::Node)
                    .for_each(|claim| claim.resize = Resize::Controller);
            }
            Self::ErrorsBeforeStatuses | Self::TransientIsStalled => {
                let hides = if self == Self::TransientIsStalled {
                    Resize::Controller
                } else {
                    Resize::Node
                };
                let fails = |claim: &&mut Claim| claim.resize == hides && claim.errors.kinds().next().is_some();
                claims
                    .filter(fails)
                    .for_each(|claim| claim.resize = Resize::ControllerInfeasible);
            }
            Self::LabelIsEnough => {
                let dropped = |claim: &&mut Claim| target.is_some() && claim.revision == target && claim.our_size;
                claims.filter(dropped).for_each(|claim| claim.our_size = false);
            }
            Self::IgnoresQuota => seen.room = None,
            Self::HotLoop => seen.refusals = [None::<Refused>; SLOTS],
            Self::SaysAgain => seen.previous = None,
            Self::DropsClass => claims.for_each(|claim| claim.our_class = Share::None),
            Self::StatusOfBefore => seen.set.status.observed = true,
            Self::NextBeforePod => seen.set.spec.asynchronous = true,
            Self::SaysReadyAgain => seen.set.spec.ready = None,
            _ => {}
        }
    }

    /// What is decided is bent.
    pub(crate) fn decides(self, seen: &Seen, decision: &mut Decision) {
        let change = seen.set.staged_change().copied();
        match (self, change) {
            (Self::NoteBeforeGrowth, Some(change)) if change.complete => {
                decision.writes.retain(|write| !matches!(write, Write::Apply(_)));
                (decision.settled, decision.requeue) = (true, None);
            }
            (Self::NoteBeforeGrowth, Some(change)) if decision.writes.iter().any(is_apply) => {
                let note = StagedChange {
                    complete: true,
                    ..change
                };
                decision.writes.insert(0, write_staged(note));
            }
            (Self::Unobserved, _) => decision.requeue = None,
            (Self::MissingIsAnError, Some(_)) if self.pods(seen).any(|pod| pod.is_none()) => stop(decision),
            (Self::WaitsForPods, Some(_)) if self.pods(seen).any(|pod| pod != Some(true)) => {
                decision.writes.retain(|write| !is_apply(write));
            }
            (Self::LowestFirst, Some(change)) => lowest_first(seen, &change, decision),
            (Self::AllAtOnce, Some(change)) if decision.writes.iter().any(is_apply) => {
                decision.writes.retain(|write| !is_apply(write));
                decision.writes.extend(due(seen, &change).map(Write::Apply));
            }
            (Self::ForgetsReady, _) => decision.writes.retain(|write| !matches!(write, Write::Ready { .. })),
            (Self::BorrowsPartition, Some(change)) if !change.complete => decision.writes.extend(hold(seen)),
            (Self::DeletesOrphans, _) => decision.writes.extend(orphan(seen)),
            (Self::StagesAgain, Some(change)) if change.complete => decision.writes.push(write_staged(change)),
            (_, Some(_)) => self.decides_as_we_did(seen, decision),
            _ => {}
        }
    }

    /// What is decided is bent as our own decision once was, while something is wished.
    fn decides_as_we_did(self, seen: &Seen, decision: &mut Decision) {
        match self {
            Self::UnreadyWaits if !seen.set.spec.parallel => {
                keep_applies(decision, |ordinal| {
                    !above(ordinal).any(|above| is_to_be_replaced(seen, above))
                });
            }
            Self::UnboundStopsAll if seen.set.spec.parallel => {
                let unbound = |slot: usize| seen.claims[slot].is_some_and(|claim| !claim.bound);
                keep_applies(decision, |ordinal| !above(ordinal).any(|above| unbound(slot(0, above))));
            }
            Self::ClockSetBack => {
                let waits = |ordinal| seen.refusals[slot(0, ordinal)].is_some_and(|refused| refused.age < 0);
                keep_applies(decision, |ordinal| !waits(ordinal));
            }
            Self::RefusalOfOne if seen.set.spec.paused && seen.refusals.iter().any(Option::is_some) => {
                decision.says += 1;
            }
            _ => {}
        }
    }

    /// The Pods of the replicas: whether each is Ready, if it is there.
    fn pods(self, seen: &Seen) -> impl Iterator<Item = Option<bool>> + '_ {
        let replicas = usize::from(seen.set.spec.replicas).min(ORDINALS);
        seen.pods[..replicas]
            .iter()
            .map(|pod| pod.map(|pod| pod.ready.is_some()))
    }

    /// What is sent is bent.
    pub(crate) fn sends(self, write: Write) -> Write {
        let Write::Apply(apply) = write else {
            return write;
        };
        let want = apply.revision.wants[place(apply.slot.into()).0];
        Write::Apply(match self {
            Self::NoUid => Apply {
                uid: None,
                version: None,
                ..apply
            },
            Self::NoVersion => Apply { version: None, ..apply },
            Self::ShrinksToTemplate => Apply {
                size: want.size,
                ..apply
            },
            Self::GrowsBeyond => Apply {
                size: apply.size + 1,
                ..apply
            },
            Self::FifthField => Apply { others: 1, ..apply },
            _ => apply,
        })
    }

    /// What is remembered of a reply is bent.
    pub(crate) fn overlay(planted: Option<Self>, views: &Views, slot: usize, reply: Claim) -> Claim {
        match (planted, views.claims[slot]) {
            (Some(Self::OlderViewIsReady), Some(seen)) => Claim {
                revision: reply.revision,
                version: reply.version,
                ..seen
            },
            _ => reply,
        }
    }
}

fn is_apply(write: &Write) -> bool {
    matches!(write, Write::Apply(_))
}

/// Only claims of such ordinals are written.
fn keep_applies(decision: &mut Decision, keep: impl Fn(usize) -> bool) {
    decision
        .writes
        .retain(|write| !matches!(write, Write::Apply(apply) if !keep(place(apply.slot.into()).1)));
}

fn above(ordinal: usize) -> std::ops::Range<usize> {
    ordinal + 1..ORDINALS
}

fn is_to_be_replaced(seen: &Seen, ordinal: usize) -> bool {
    seen.pods[ordinal].is_some_and(|pod| !pod.terminating && pod.image != seen.set.status.update)
}

fn stop(decision: &mut Decision) {
    decision.writes.clear();
    decision.requeue = None;
}

fn write_staged(change: StagedChange) -> Write {
    Write::StagedChange {
        uid: Some(SEEN),
        version: Some(1),
        change: Some(change),
    }
}

/// Every apply that the wish still needs.
fn due<'s>(seen: &'s Seen, change: &'s StagedChange) -> impl DoubleEndedIterator<Item = Apply> + 's {
    (0..SLOTS).rev().filter_map(|slot| {
        let claim = seen.claims[slot]?;
        let want: Want = *change.target.wants().get(place(slot).0)?;
        let free = claim.bound && !claim.terminating && claim.revision != Some(change.target);
        free.then(|| Apply {
            slot: u8::try_from(slot).unwrap_or(0),
            uid: Some(claim.uid),
            version: Some(1),
            size: want.size.max(claim.request),
            class: want.class,
            tier: want.tier,
            revision: change.target,
            others: 0,
            taken_back: false,
        })
    })
}

fn lowest_first(seen: &Seen, change: &StagedChange, decision: &mut Decision) {
    if decision.writes.iter().any(is_apply) {
        decision.writes.retain(|write| !is_apply(write));
        let last = due(seen, change).min_by_key(|apply| place(apply.slot.into()).1);
        decision.writes.extend(last.map(Write::Apply));
    }
}

/// No Pod is replaced.
fn hold(seen: &Seen) -> Option<Write> {
    let to = seen.set.spec.replicas;
    let hold = Write::Partition {
        uid: Some(SEEN),
        version: Some(1),
        to,
    };
    (seen.set.spec.partition < to && !seen.set.spec.on_delete).then_some(hold)
}

/// A claim whose Pod is not there.
fn orphan(seen: &Seen) -> Option<Write> {
    let slot = (0..SLOTS).find(|slot| {
        seen.pods[place(*slot).1].is_none() && seen.claims[*slot].is_some_and(|claim| !claim.terminating)
    })?;
    Some(Write::Delete {
        slot: u8::try_from(slot).ok()?,
    })
}

//! Bugs of `plan`, and of the requests.

use super::Planted;
use crate::sim::controller_view::{BEFORE_REPORT, BEFORE_STAGING, ControllerView, SEEN, SeenDenial};
use crate::sim::objects::{
    ClaimObject, ClaimOwner, ModelTarget, ORDINALS, ResizeState, SLOTS, Share, StagedAnnotation, Want, place, slot,
};
use crate::sim::plan_decision::PlanDecision;
use crate::sim::watch::Views;
use crate::sim::write::{Apply, Write};

impl Planted {
    /// Changes the view of the decision.
    pub(crate) fn sees(self, seen: &mut ControllerView) {
        let target = seen.set.staged_change().map(|change| change.target);
        let claims = seen.claims.iter_mut().flatten();
        match self {
            Self::ComparesSpelling => {
                let sizes = target.iter().flat_map(ModelTarget::wants).map(|want| want.size);
                let largest = sizes.max().unwrap_or(0);
                claims
                    .filter(|claim| claim.request > largest)
                    .for_each(|claim| claim.revision = None);
            }
            Self::IgnoresTerminating => claims.for_each(|claim| claim.terminating = false),
            Self::OwnerByName => {
                claims.for_each(|claim| claim.owner = ClaimOwner::None);
                (seen.foreign_mounts, seen.sibling) = (0, false);
            }
            Self::StagedOfAnotherSet => {
                if let Some(change) = &mut seen.set.spec.staged {
                    change.uid = SEEN;
                }
            }
            Self::OneStopsAll => seen.set.spec.parallel = false,
            Self::WaitsForCapacity => {
                claims
                    .filter(|claim| claim.resize == ResizeState::Node)
                    .for_each(|claim| claim.resize = ResizeState::Controller);
            }
            Self::ErrorsBeforeStatuses | Self::TransientIsStalled => {
                let hides = if self == Self::TransientIsStalled {
                    ResizeState::Controller
                } else {
                    ResizeState::Node
                };
                let fails = |claim: &&mut ClaimObject| claim.resize == hides && claim.errors.kinds().next().is_some();
                claims
                    .filter(fails)
                    .for_each(|claim| claim.resize = ResizeState::ControllerInfeasible);
            }
            Self::LabelIsEnough => {
                let at = claims.filter(|claim| target.is_some() && claim.revision == target);
                at.for_each(|claim| claim.our_size = false);
            }
            Self::LabelOfRevision => {
                let same = |label: ModelTarget| Some(label.unstaged()) == target.map(ModelTarget::unstaged);
                let same = claims.filter(|claim| claim.revision.is_some_and(same));
                same.for_each(|claim| claim.revision = target);
            }
            Self::IgnoresQuota => seen.room = Some(None),
            Self::HotLoop => seen.denials = [None::<SeenDenial>; SLOTS],
            Self::SaysAgain => seen.previous = None,
            Self::DropsClass => claims.for_each(|claim| claim.our_class = Share::None),
            Self::StatusOfBefore => seen.set.status.observed = true,
            Self::NextBeforePod => seen.set.spec.asynchronous = true,
            Self::SaysReadyAgain => seen.set.spec.ready = None,
            Self::UnreadableIsWithdrawn if seen.set.unreadable().is_some() => seen.set.spec.staged = None,
            Self::StartOfReport => {
                let unsure = seen.pods.iter_mut().flatten().filter(|pod| pod.age == BEFORE_REPORT);
                unsure.for_each(|pod| pod.age = BEFORE_STAGING);
            }
            _ => self.sees_what_was(seen),
        }
    }

    /// Changes the decision.
    pub(crate) fn decides(self, seen: &ControllerView, decision: &mut PlanDecision) {
        let change = seen.set.staged_change().copied();
        match (self, change) {
            (Self::NoteBeforeGrowth, Some(change)) if change.complete => {
                decision.writes.retain(|write| !matches!(write, Write::Apply(_)));
                (decision.settled, decision.requeue) = (true, None);
            }
            (Self::NoteBeforeGrowth, Some(change)) if decision.writes.iter().any(is_apply) => {
                let note = StagedAnnotation {
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
            (_, Some(change)) => {
                self.decides_as_before(seen, decision);
                self.decides_about_what_was(seen, &change, decision);
                self.decides_about_existing(seen, &change.target, decision);
            }
            _ => {}
        }
    }

    /// Changes the decision back to a previous bug of ours, during a rollout.
    fn decides_as_before(self, seen: &ControllerView, decision: &mut PlanDecision) {
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
                let waits = |ordinal| seen.denials[slot(0, ordinal)].is_some_and(|refused| refused.age < 0);
                keep_applies(decision, |ordinal| !waits(ordinal));
            }
            Self::RefusalOfOne if seen.set.spec.paused && seen.denials.iter().any(Option::is_some) => {
                decision.content += 1;
            }
            _ => {}
        }
    }

    /// Whether each Pod of the set is Ready; `None` if it is missing.
    fn pods(self, seen: &ControllerView) -> impl Iterator<Item = Option<bool>> + '_ {
        let replicas = usize::from(seen.set.spec.replicas).min(ORDINALS);
        seen.pods[..replicas]
            .iter()
            .map(|pod| pod.map(|pod| pod.ready.is_some()))
    }

    /// Changes a request.
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
            Self::AppliesStorageClass => Apply {
                storage_class: want.storage_class,
                ..apply
            },
            _ => apply,
        })
    }

    /// Changes the remembered reply.
    pub(crate) fn overlay(planted: Option<Self>, views: &Views, slot: usize, reply: ClaimObject) -> ClaimObject {
        match (planted, views.claims[slot]) {
            (Some(Self::OlderViewIsReady), Some(seen)) => ClaimObject {
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

/// Keeps only applies of such ordinals.
pub(super) fn keep_applies(decision: &mut PlanDecision, keep: impl Fn(usize) -> bool) {
    decision
        .writes
        .retain(|write| !matches!(write, Write::Apply(apply) if !keep(place(apply.slot.into()).1)));
}

fn above(ordinal: usize) -> std::ops::Range<usize> {
    ordinal + 1..ORDINALS
}

fn is_to_be_replaced(seen: &ControllerView, ordinal: usize) -> bool {
    seen.pods[ordinal].is_some_and(|pod| !pod.terminating && pod.image != seen.set.status.update)
}

fn stop(decision: &mut PlanDecision) {
    decision.writes.clear();
    decision.requeue = None;
}

fn write_staged(change: StagedAnnotation) -> Write {
    Write::StagedChange {
        uid: Some(SEEN),
        version: Some(1),
        change: Some(change),
    }
}

/// All applies that are left.
fn due<'s>(seen: &'s ControllerView, change: &'s StagedAnnotation) -> impl DoubleEndedIterator<Item = Apply> + 's {
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
            storage_class: 0,
            revision: change.target,
            others: 0,
            taken_back: false,
        })
    })
}

fn lowest_first(seen: &ControllerView, change: &StagedAnnotation, decision: &mut PlanDecision) {
    if decision.writes.iter().any(is_apply) {
        decision.writes.retain(|write| !is_apply(write));
        let last = due(seen, change).min_by_key(|apply| place(apply.slot.into()).1);
        decision.writes.extend(last.map(Write::Apply));
    }
}

/// A partition that replaces no Pod.
fn hold(seen: &ControllerView) -> Option<Write> {
    let to = seen.set.spec.replicas;
    let hold = Write::Partition {
        uid: Some(SEEN),
        version: Some(1),
        to,
    };
    (seen.set.spec.partition < to && !seen.set.spec.on_delete).then_some(hold)
}

/// The deletion of a claim without a Pod.
fn orphan(seen: &ControllerView) -> Option<Write> {
    let slot = (0..SLOTS).find(|slot| {
        seen.pods[place(*slot).1].is_none() && seen.claims[*slot].is_some_and(|claim| !claim.terminating)
    })?;
    Some(Write::Delete {
        slot: u8::try_from(slot).ok()?,
    })
}

//! Bugs about what was before: replicas that were scaled away, requests of an earlier staging, failures.

use super::Planted;
use super::decision::keep_applies;
use crate::sim::controller_view::ControllerView;
use crate::sim::objects::{ClaimObject, ClaimOwner, ResizeState, StagedAnnotation, place};
use crate::sim::plan_decision::PlanDecision;
use crate::sim::write::Write;

impl Planted {
    /// Changes the view of the decision.
    pub(super) fn sees_what_was(self, seen: &mut ControllerView) {
        let target = seen.set.staged_change().map(|change| change.target);
        let claims = seen.claims.iter_mut().flatten();
        match self {
            Self::ErrorHidesProgress => {
                let fails =
                    |claim: &&mut ClaimObject| claim.resize == ResizeState::Controller && claim.errors.controller;
                claims.filter(fails).for_each(|claim| {
                    (claim.resize, claim.errors.controller) = (ResizeState::None, false);
                });
            }
            Self::InfeasibleOfBefore => claims.for_each(|claim| {
                (claim.resize_to, claim.modify_to) = (claim.request, claim.class);
            }),
            Self::TakesBackOfOthers => claims.for_each(|claim| claim.our_size = true),
            Self::LeftInMotion => {
                let is_left = |claim: &&mut ClaimObject| claim.revision.is_some() && claim.revision != target;
                claims.filter(is_left).for_each(|claim| {
                    (claim.capacity, claim.current_class) = (claim.request.max(claim.capacity), claim.class);
                });
            }
            Self::MissingLabelIsForeign => claims
                .filter(|claim| !claim.selected)
                .for_each(|claim| claim.owner = ClaimOwner::Other),
            Self::ScaledAwayForgotten => seen.set.spec.staged.iter_mut().for_each(|change| change.replicas = 0),
            _ => {}
        }
    }

    /// Changes the decision, during a rollout or after it.
    pub(super) fn decides_about_what_was(
        self,
        seen: &ControllerView,
        change: &StagedAnnotation,
        decision: &mut PlanDecision,
    ) {
        let takes_back =
            |write: &Write| matches!(write, Write::StagedChange { change: Some(change), .. } if !change.complete);
        match self {
            Self::ScaledAwayNeverWritten => {
                keep_applies(decision, |ordinal| ordinal < usize::from(seen.set.spec.replicas));
            }
            Self::CompleteStays if change.complete => decision.writes.retain(|write| !takes_back(write)),
            Self::KeepsClassNeverReached => keep_classes(seen, change, decision),
            _ => {}
        }
    }
}

/// Applies the class that the claim requests where the template has none.
fn keep_classes(seen: &ControllerView, change: &StagedAnnotation, decision: &mut PlanDecision) {
    for write in &mut decision.writes {
        let Write::Apply(apply) = write else {
            continue;
        };
        let slot = usize::from(apply.slot);
        if change.target.wants[place(slot).0].class == 0 {
            apply.class = seen.claims[slot].map_or(0, |claim| claim.class);
        }
    }
}

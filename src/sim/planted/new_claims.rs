//! Bugs of `immutableFields: NewPVCs`.

use super::Planted;
use crate::sim::controller_view::ControllerView;
use crate::sim::objects::{ClaimObject, ModelTarget, place};
use crate::sim::plan_decision::PlanDecision;
use crate::sim::write::Write;

impl Planted {
    /// Changes the decision about existing claims, if the target has what is for new ones.
    pub(super) fn decides_about_existing(
        self,
        seen: &ControllerView,
        target: &ModelTarget,
        decision: &mut PlanDecision,
    ) {
        match self {
            Self::WritesClassOfAnotherDriver | Self::NewPvcsShrinkExisting => {
                for write in &mut decision.writes {
                    self.applies_all(seen, target, write);
                }
            }
            Self::ImmutableNeverComplete if keeps_storage_class(seen, target) => {
                let completes = |write: &Write| matches!(write, Write::StagedChange { change: Some(change), .. } if change.complete);
                decision.writes.retain(|write| !completes(write));
            }
            _ => {}
        }
    }

    fn applies_all(self, seen: &ControllerView, target: &ModelTarget, write: &mut Write) {
        let Write::Apply(apply) = write else {
            return;
        };
        let template = place(apply.slot.into()).0;
        let (want, live) = (target.wants[template], seen.set.spec.live.wants[template]);
        match self {
            Self::NewPvcsShrinkExisting if want.size < live.size => apply.size = want.size,
            Self::WritesClassOfAnotherDriver if want.class != 0 => apply.class = want.class,
            _ => {}
        }
    }

    /// Changes a claim that the policy has changed at its creation.
    pub(crate) fn creates(self, asked: &ClaimObject, claim: &mut ClaimObject) {
        if self == Self::NewPvcsAsLive {
            claim.storage_class = asked.storage_class;
        }
    }
}

/// Whether an existing claim keeps another StorageClass than its template's.
fn keeps_storage_class(seen: &ControllerView, target: &ModelTarget) -> bool {
    let mut claims = seen.claims.iter().enumerate();
    claims.any(|(slot, claim)| claim.is_some_and(|claim| claim.is_of_another_driver(target.wants[place(slot).0])))
}

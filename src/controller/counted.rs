//! Which claims are looked at although nothing is rolled out: how many lag under `OnClaimDelete`, which ask for more than they
//! will get after a withdrawal.
//!
//! They are counted when the StatefulSet changes, and every few hours: nobody keeps watching them for that.

use super::context::Context;
use super::crd::ClaimRollout;
use super::slim::Set;
use super::{settled, views};
use crate::rollout::lag;
use crate::rollout::{Idle, SetView, Target};
use crate::templates::Revision;

impl Context {
    /// True iff this controller has not looked at the set yet, and an earlier one has left nothing to do.
    pub(super) fn was_reported(&self, set: &Set, view: &SetView, target: &Result<Target<'_>, Idle>) -> bool {
        let is_known = self.remembered(set, |memory| memory.settled.is_some()) == Some(true);
        let report = self.report_of(set).filter(|_| !is_known);
        report.is_some_and(|report| match target {
            Ok(target) => settled::was_reached(view, target, &report),
            Err(idle) => {
                let idle = self.idle(set, view, idle.clone());
                lag::is_reported(&idle, view) && was_counted(view, &idle, &report)
            }
        })
    }

    /// True iff claims are looked at although nothing is rolled out. They are watched until they have been counted.
    pub(super) fn counts(&self, set: &Set, view: &SetView, idle: Idle) -> bool {
        lag::is_reported(&self.idle(set, view, idle), view)
    }

    /// Why nothing is rolled out, by what was reported before.
    fn idle(&self, set: &Set, view: &SetView, idle: Idle) -> Idle {
        let report = self.report_of(set);
        let previous = report.and_then(|report| views::previous(&report, &view.uid));
        lag::after(idle, previous.as_ref(), &Revision::of(&view.live))
    }
}

/// True iff an earlier controller has reported what this one would: nothing is rolled out, and as many claims were counted or
/// named as there are replicas for now. So a start and a failover read no claims here either.
fn was_counted(set: &SetView, idle: &Idle, report: &ClaimRollout) -> bool {
    let Some(status) = &report.status else { return false };
    let ready = status.conditions.iter().find(|condition| condition.type_ == "Ready");
    let wanted = Revision::of(set.wanted());
    let replicas = (*idle == Idle::OnClaimDelete).then_some(i64::from(set.replicas));
    report.spec.set_ref.uid == set.uid
        && (&*report.spec.revision, &*status.update_revision) == (wanted.as_str(), wanted.as_str())
        && report.spec.sync == set.sync.to_string()
        && Some(status.observed_generation) == report.metadata.generation
        && status.replicas == replicas
        && ready.is_some_and(|ready| ready.reason == idle.as_str())
}

#[cfg(test)]
#[path = "counted_tests.rs"]
mod tests;

//! Counts of PVCs while nothing is rolled out: outdated PVCs with `OnClaimDelete`, and PVCs that request more than
//! they will get after a withdrawal.
//!
//! They are counted when the StatefulSet changes, and every few hours. They are not watched for that.

use crate::controller::crd::ClaimRollout;
use crate::controller::memory::settled;
use crate::controller::objects::set::SlimSet;
use crate::controller::objects::views;
use crate::controller::observe::observer::Observer;
use crate::gate::{Idle, SetView, Target};
use crate::rollout::idle_report;
use crate::templates::Revision;

/// True iff this is the first reconcile of the set and a previous controller has left nothing to do.
pub(super) fn was_reported(
    observer: &Observer,
    set: &SlimSet,
    view: &SetView,
    target: &Result<Target<'_>, Idle>,
) -> bool {
    // After a denied step, the mark of a PVC may be left although the report shows that nothing is rolled out.
    let is_known = observer
        .memories
        .remembered(set, |memory| memory.settled.is_some() || memory.not_recreated.is_some())
        == Some(true);
    let report = observer.report_of(set).filter(|_| !is_known);
    report.is_some_and(|report| match target {
        Ok(target) => settled::was_reached(view, target, &report),
        Err(idle) => {
            let idle = idle_after_report(observer, set, view, idle.clone());
            idle_report::is_reported(&idle, view) && was_counted(view, &idle, &report)
        }
    })
}

/// True iff PVCs are counted although nothing is rolled out. They are watched until they are counted.
pub(crate) fn counts(observer: &Observer, set: &SlimSet, view: &SetView, idle: Idle) -> bool {
    idle_report::is_reported(&idle_after_report(observer, set, view, idle), view)
}

/// Why nothing is rolled out, based on the previous report.
fn idle_after_report(observer: &Observer, set: &SlimSet, view: &SetView, idle: Idle) -> Idle {
    let report = observer.report_of(set);
    let previous = report.and_then(|report| views::previous(&report, &view.uid));
    idle_report::after(idle, previous.as_ref(), &Revision::of(&view.live))
}

/// True iff a previous controller has reported the same: nothing is rolled out, and the PVCs of the current number of
/// replicas were counted. So a start or a failover does not read these PVCs.
fn was_counted(set: &SetView, idle: &Idle, report: &ClaimRollout) -> bool {
    let Some(status) = &report.status else { return false };
    let ready = status.condition("Ready");
    let replicas = (*idle == Idle::OnClaimDelete).then_some(i64::from(set.replicas));
    settled::is_report_of(report, status, set, &Revision::of(set.wanted()))
        && status.replicas == replicas
        && ready.is_some_and(|ready| ready.reason == idle.as_str())
}

#[cfg(test)]
#[path = "counts_tests.rs"]
mod tests;

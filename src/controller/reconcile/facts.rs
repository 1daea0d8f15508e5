//! Finds what a [`Triage`] asks for, and no more: most StatefulSets need nothing.

use std::sync::{Arc, OnceLock};

use kube::ResourceExt;
use tokio::time::Instant;

use super::counts;
use super::volumes::volumes;
use crate::api::Seconds;
use crate::controller::calls::error::ReconcileError;
use crate::controller::memory::settled::Basis;
use crate::controller::objects::set::SlimSet;
use crate::controller::objects::set_kind::SetKind;
use crate::controller::objects::views::ViewError;
use crate::controller::observe::observer::Observer;
use crate::controller::registrations::admission::Admission;
use crate::controller::watch::cache::WatchCache;
use crate::controller::watch::namespaces::Namespace;
use crate::gate::{Idle, SetView, Target};
use crate::rollout::machine::{ListState, Namesake, Purpose, Triage, TriageFact};

/// Finds facts about one StatefulSet.
pub(super) struct FactFinder<'c> {
    set: &'c SlimSet,
    observer: &'c Observer,
    admission: &'c Admission,
    view: OnceLock<SetView>,
    /// For how many seconds it rests; none until it changes.
    rests: Option<Seconds>,
}

impl<'c> FactFinder<'c> {
    pub(crate) fn new(set: &'c SlimSet, observer: &'c Observer, admission: &'c Admission) -> Self {
        Self {
            set,
            observer,
            admission,
            view: OnceLock::new(),
            rests: None,
        }
    }

    /// Finds this fact.
    pub(crate) async fn find(&mut self, fact: TriageFact, triage: &mut Triage) -> Result<(), ReconcileError> {
        let Self { set, observer, .. } = *self;
        match fact {
            TriageFact::Namesake => triage.namesake = Some(self.namesake()),
            TriageFact::Volumes => triage.volumes = Some(volumes(observer, set)?),
            TriageFact::IsReported => {
                triage.is_reported = Some(set.is_managed() || observer.report_of(set).is_some());
            }
            TriageFact::Rests => {
                let rests = has_nothing_to_do(observer, set);
                triage.rests = Some(rests.is_some());
                self.rests = rests.flatten();
            }
            TriageFact::WasSettled => {
                let view = self.view()?;
                let target = Target::of(view, &observer.settings);
                let was_settled = counts::was_reported(observer, set, view, &target);
                triage.was_settled = Some(was_settled);
                // The next fact depends on the target, too, which compares all templates.
                triage.purpose = (!was_settled).then(|| purpose(observer, set, view, target));
            }
            TriageFact::Purpose => {
                let view = self.view()?;
                triage.purpose = Some(purpose(observer, set, view, Target::of(view, &observer.settings)));
            }
            TriageFact::Distrust => triage.distrust = Some(self.admission.distrusts(set).await?),
            TriageFact::Lists => triage.lists = Some(self.lists()?),
        }
        Ok(())
    }

    /// For how many seconds the set rests, if it does; none until it changes.
    pub(crate) fn rests(&self) -> Option<Seconds> {
        self.rests
    }

    /// The set as the decisions read it.
    pub(crate) fn view(&self) -> Result<&SetView, ViewError> {
        if let Some(view) = self.view.get() {
            return Ok(view);
        }
        let view = self.observer.view(self.set)?;
        Ok(self.view.get_or_init(|| view))
    }

    /// The watch on the PVCs and Pods of the set.
    pub(crate) fn opened(&self) -> Result<Arc<Namespace>, ViewError> {
        Ok(self.observer.cache.opened(self.set, self.view()?))
    }

    fn namesake(&self) -> Namesake {
        if !has_namesake(&self.observer.cache, self.set) {
            Namesake::Absent
        } else if self.observer.cache.is_report_of_other(self.set) {
            Namesake::Reported
        } else {
            Namesake::Exists
        }
    }

    fn lists(&self) -> Result<ListState, ViewError> {
        let opened = self.opened()?;
        let is_complete = opened.is_ready();
        Ok(match opened.unlisted(Instant::now()) {
            Some(why) => ListState::Failing { why, is_complete },
            None if is_complete => ListState::Complete,
            None => ListState::Incomplete,
        })
    }
}

/// What a reconcile with this target is for.
fn purpose(observer: &Observer, set: &SlimSet, view: &SetView, target: Result<Target<'_>, Idle>) -> Purpose {
    match target {
        Ok(_) => Purpose::RollOut,
        Err(idle) if counts::counts(observer, set, view, idle.clone()) => Purpose::Count,
        Err(_) => Purpose::Report,
    }
}

/// True iff the set is one of OpenKruise that is to be rolled out, and one of Kubernetes has its name. Their Pods, PVCs
/// and ClaimRollouts would have the same names.
pub(super) fn has_namesake(cache: &WatchCache, set: &SlimSet) -> bool {
    set.kind == SetKind::OpenKruise && set.is_managed() && cache.namesake(set).is_some()
}

/// For how many seconds no reconcile is needed, or none until the set changes. Either the set is not managed, because it
/// has no staged change and no ClaimRollout, or it is settled.
pub(super) fn has_nothing_to_do(observer: &Observer, set: &SlimSet) -> Option<Option<Seconds>> {
    let report = observer.report_of(set);
    if report.is_none() && !set.is_managed() {
        observer.forget(set);
        return Some(None);
    }
    let now = (observer.clock)();
    let basis = || Basis::of(set, report.as_deref());
    let rests = observer
        .memories
        .remembered(set, |memory| memory.rests(set.resource_version().as_ref(), basis, now));
    rests.flatten().map(Some)
}

//! Finds what a [`Triage`] asks for, and no more: most StatefulSets need nothing.

use std::sync::{Arc, OnceLock};

use tokio::time::Instant;

use super::context::Context;
use super::error::ReconcileError;
use super::namespaces::Namespace;
use super::slim_set::SlimSet;
use super::views::ViewError;
use crate::api::Seconds;
use crate::gate::{SetView, Target};
use crate::rollout::machine::{ListState, Namesake, Purpose, Triage, TriageFact};

/// Finds facts about one StatefulSet.
pub(super) struct FactFinder<'c> {
    set: &'c SlimSet,
    context: &'c Context,
    view: OnceLock<SetView>,
    /// For how many seconds it rests; none until it changes.
    rests: Option<Seconds>,
}

impl<'c> FactFinder<'c> {
    pub(super) fn new(set: &'c SlimSet, context: &'c Context) -> Self {
        Self {
            set,
            context,
            view: OnceLock::new(),
            rests: None,
        }
    }

    /// Finds this fact.
    pub(super) async fn find(&mut self, fact: TriageFact, triage: &mut Triage) -> Result<(), ReconcileError> {
        let Self { set, context, .. } = *self;
        match fact {
            TriageFact::Namesake => triage.namesake = Some(self.namesake()),
            TriageFact::Volumes => triage.volumes = Some(context.volumes(set)?),
            TriageFact::IsReported => {
                triage.is_reported = Some(set.is_managed() || context.report_of(set).is_some());
            }
            TriageFact::Rests => {
                let rests = context.has_nothing_to_do(set);
                triage.rests = Some(rests.is_some());
                self.rests = rests.flatten();
            }
            TriageFact::WasSettled => {
                let view = self.view()?;
                let target = Target::of(view, &context.settings);
                triage.was_settled = Some(context.was_reported(set, view, &target));
            }
            TriageFact::Purpose => triage.purpose = Some(self.purpose()?),
            TriageFact::Distrust => triage.distrust = Some(context.admission.distrusts(set).await?),
            TriageFact::Lists => triage.lists = Some(self.lists()?),
        }
        Ok(())
    }

    /// For how many seconds the set rests, if it does; none until it changes.
    pub(super) fn rests(&self) -> Option<Seconds> {
        self.rests
    }

    /// The set as the decisions read it.
    pub(super) fn view(&self) -> Result<&SetView, ViewError> {
        if let Some(view) = self.view.get() {
            return Ok(view);
        }
        let view = self.context.view(self.set)?;
        Ok(self.view.get_or_init(|| view))
    }

    /// The watch on the PVCs and Pods of the set.
    pub(super) fn opened(&self) -> Result<Arc<Namespace>, ViewError> {
        Ok(self.context.opened(self.set, self.view()?))
    }

    fn namesake(&self) -> Namesake {
        if !self.context.has_namesake(self.set) {
            Namesake::Absent
        } else if self.context.is_report_of_other(self.set) {
            Namesake::Reported
        } else {
            Namesake::Exists
        }
    }

    fn purpose(&self) -> Result<Purpose, ViewError> {
        let view = self.view()?;
        Ok(match Target::of(view, &self.context.settings) {
            Ok(_) => Purpose::RollOut,
            Err(idle) if self.context.counts(self.set, view, idle.clone()) => Purpose::Count,
            Err(_) => Purpose::Report,
        })
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

//! What the decisions see of a StatefulSet: the snapshot of the watches, of the memory and of the flags.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use kube::ResourceExt;
use kube::runtime::reflector::ObjectRef;

use super::{budgets, quotas};
use crate::api::{Seconds, Settings};
use crate::claims::Claim;
use crate::controller::clock::Clock;
use crate::controller::crd::ClaimRollout;
use crate::controller::memory::memories::Memories;
use crate::controller::objects::set::SlimSet;
use crate::controller::objects::views;
use crate::controller::objects::views::ViewError;
use crate::controller::places::class_places::ClassPlaces;
use crate::controller::watch::cache::WatchCache;
use crate::controller::watch::namespaces::Namespace;
use crate::gate::{Idle, SetView, target};
use crate::rollout::machine::RetriedWrite;
use crate::rollout::volume_snapshot::ReCreateAnswers;
use crate::rollout::{Budgets, Plan, Previous, Refusal, Snapshot};
use crate::templates::MaxInMotion;

/// Whether the controller deletes PVCs for the update policy `ReCreate`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReCreating {
    /// Never: such a rollout is stalled.
    #[default]
    Off,
    /// As the rollout asks for it.
    On,
}

/// What was read for a reconcile.
#[derive(Clone, Copy)]
pub(crate) struct Seen<'s> {
    /// The set.
    pub(crate) view: &'s SetView,
    /// The watch on its PVCs and Pods, if they are part of the decision.
    pub(crate) opened: Option<&'s Namespace>,
    /// Why nothing is rolled out, if that is known.
    pub(crate) halted: Option<&'s Idle>,
}

/// Sees the StatefulSets of one kind.
pub(crate) struct Observer {
    pub(crate) clock: Clock,
    pub(crate) settings: Arc<Settings>,
    pub(crate) max_in_motion: MaxInMotion,
    pub(crate) recreating: ReCreating,
    pub(crate) cache: WatchCache,
    pub(crate) memories: Arc<Memories>,
    pub(crate) places: Arc<ClassPlaces>,
}

impl Observer {
    /// The newest known ClaimRollout of the set. That of a set of the other kind with its name is none.
    pub(crate) fn report_of(&self, set: &SlimSet) -> Option<Arc<ClaimRollout>> {
        self.memories.latest(set, self.cache.report_of(set))
    }

    /// The plan within the limits of storage classes over all StatefulSets.
    pub(crate) fn plan(&self, snapshot: &mut Snapshot) -> Plan {
        self.places.plan(snapshot, || budgets::rollouts(&self.cache.all_sets()))
    }

    /// Ends the watches and returns the places of the set.
    pub(crate) fn close(&self, set: &SlimSet) {
        self.cache.close(set);
        self.places.give_back(&set.uid().unwrap_or_default(), (self.clock)());
    }

    /// Forgets a set that is deleted or not managed.
    pub(crate) fn forget(&self, set: &SlimSet) {
        self.close(set);
        self.memories.forget(set);
    }

    /// Forgets a set that was deleted.
    pub(crate) fn forget_deleted(&self, set: &SlimSet) {
        self.close(set);
        self.memories.forget_deleted(set);
    }

    /// Forgets a set that was deleted during its reconcile, which may have created memory and watches for it again.
    pub(crate) fn forget_if_deleted(&self, set: &SlimSet) {
        if !self.cache.exists(set) {
            self.forget_deleted(set);
        }
    }

    /// Forgets sets that do not exist any more. Some may have been deleted while the watch was broken.
    pub(crate) fn prune(&self) {
        let existing: HashSet<String> = self.cache.all_sets().iter().filter_map(|set| set.uid()).collect();
        let is_known = |uid: &str| existing.contains(uid);
        self.memories.retain(is_known);
        self.cache.retain(is_known);
        self.places.retain(is_known, (self.clock)());
    }

    /// The StatefulSet as the decision reads it, with the defaults of the flags.
    pub(crate) fn view(&self, set: &SlimSet) -> Result<SetView, ViewError> {
        view_of(set, self.max_in_motion)
    }

    /// What a decision about the set reads, without answers to questions.
    pub(crate) fn observe(&self, set: &SlimSet, seen: Seen<'_>) -> Result<Snapshot, ViewError> {
        let Seen { view, opened, halted } = seen;
        let mut snapshot = self.snapshot(set, view, opened)?;
        let is_off = self.recreating == ReCreating::Off && target::recreates(view);
        let halted = opened
            .and_then(|opened| opened.unread(view))
            .or_else(|| halted.cloned());
        let undone = || self.undone(set);
        let halted = match halted {
            // It is a write, too.
            Some(Idle::StagedBeforePolicy) => undone().or(halted),
            _ => halted.or_else(undone),
        };
        snapshot.halted = halted.or_else(|| is_off.then_some(Idle::ReCreate));
        Ok(snapshot)
    }

    /// The snapshot of the set.
    fn snapshot(&self, set: &SlimSet, view: &SetView, opened: Option<&Namespace>) -> Result<Snapshot, ViewError> {
        let mut claims = BTreeMap::new();
        let mut pods = BTreeMap::new();
        if let Some(opened) = opened {
            claims = claims_of(view, opened)?;
            pods = opened.pods.of(view, claims.keys());
        }
        let modified = match opened {
            Some(opened) if self.places.has_limits() => {
                let replies = self.memories.remembered(set, |memory| memory.modified.clone());
                budgets::modified(opened, &view.namespace, claims.values(), &replies.unwrap_or_default())
            }
            _ => BTreeMap::new(),
        };
        let mut previous = self
            .report_of(set)
            .and_then(|rollout| views::previous(&rollout, &view.uid));
        let now = (self.clock)();
        let refusals = self.overlay(set, view, (&mut claims, &mut previous), now);
        let siblings = if opened.is_some() {
            self.cache.siblings(view)
        } else {
            Vec::new()
        };
        let known = self.memories.remember(set, |memory| {
            let fault = |denied: &Option<RetriedWrite>| denied.as_ref().map(|denied| denied.fault(now));
            let faults = [&memory.write_denied, &memory.not_evicted, &memory.not_recreated].map(fault);
            let events = memory.claim_events.iter();
            let events = events.map(|(uid, event)| (uid.clone(), event.message.clone()));
            (faults, memory.milestones.clone(), events.collect())
        });
        let ([write_refused, not_evicted, not_recreated], milestones, claim_events) = known;
        Ok(Snapshot {
            now,
            settings: Arc::clone(&self.settings),
            halted: None,
            write_refused,
            not_evicted,
            recreate: ReCreateAnswers {
                denied: not_recreated,
                ..ReCreateAnswers::default()
            },
            staged_before: set.staged_before,
            set: view.clone(),
            claims,
            pods,
            siblings,
            refusals,
            quotas: quotas::known(&self.memories, set, view, now),
            budgets: Budgets {
                modified,
                ..Budgets::default()
            },
            previous,
            milestones,
            claim_events,
        })
    }

    /// Shows what is remembered of the last writes in the PVCs and the last report. Returns the denied applies, of which
    /// those that pass now are due.
    fn overlay(
        &self,
        set: &SlimSet,
        view: &SetView,
        (claims, previous): (&mut BTreeMap<String, Claim>, &mut Option<Previous>),
        now: Seconds,
    ) -> BTreeMap<String, Refusal> {
        let due = self.cache.unblock.take_due(&view.namespace, &view.name);
        let denials = self.memories.remember(set, |memory| {
            if let Some(previous) = previous {
                previous.claims.extend(memory.unlisted.clone());
            }
            memory.overlay(claims.values_mut(), now);
            if due {
                let class = |uid: &str| claims.values().find(|claim| claim.uid == uid)?.storage_class_name();
                let set = [&*view.namespace, &*view.name];
                memory.retry_now(|uid, denial| self.cache.unblock.lets_pass(set, &denial.message, class(uid)));
            }
            memory.denials.clone()
        });
        let messages: Vec<&str> = denials.values().map(|denial| &*denial.message).collect();
        self.cache
            .unblock
            .set_denials([&view.namespace, &view.name, &view.uid], &messages);
        denials
    }

    /// Set if somebody undid the last write to the set, and it is not yet time to retry it.
    pub(crate) fn undone(&self, set: &SlimSet) -> Option<Idle> {
        let now = (self.clock)();
        let undone = self
            .memories
            .remembered(set, |memory| memory.undone.clone())
            .flatten()?;
        let (what, retry_at) = undone.fault(now);
        (retry_at > now).then_some(Idle::WriteUndone { what, retry_at })
    }
}

/// The StatefulSet as the decisions read it, with the default of the flag.
pub(super) fn view_of(set: &SlimSet, max_in_motion: MaxInMotion) -> Result<SetView, ViewError> {
    let mut view = views::set(set)?;
    view.max_in_motion.get_or_insert(max_in_motion);
    Ok(view)
}

/// The existing PVCs with the names of the PVCs of the set.
fn claims_of(set: &SetView, opened: &Namespace) -> Result<BTreeMap<String, Claim>, ViewError> {
    let mut claims = BTreeMap::new();
    for template in set.wanted() {
        for ordinal in set.ordinals().chain(set.scaled_away()) {
            let name = format!("{}-{}-{ordinal}", template.name, set.name);
            if let Some(claim) = opened.claims.get(&ObjectRef::new(&name).within(&set.namespace)) {
                claims.insert(name, views::claim(&claim)?);
            }
        }
    }
    Ok(claims)
}

//! What the decision reads, gathered from the watches.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::runtime::reflector::ObjectRef;

use super::context::Context;
use super::namespaces::Namespace;
use super::slim::Set;
use super::views::{self, ViewError};
use crate::claims::Claim;
use crate::rollout::{Budgets, Idle, Plan, Seconds, SetView, Sibling, Snapshot};

impl Context {
    /// What the StatefulSet says; what its annotations do not, the flags do.
    pub(super) fn view(&self, set: &Set) -> Result<SetView, ViewError> {
        let mut view = views::set(set)?;
        view.max_in_motion.get_or_insert(self.max_in_motion);
        Ok(view)
    }

    /// What to do next by all that is seen, and by the quotas where they are to be read first.
    pub(super) async fn decide(
        &self,
        set: &Set,
        view: &SetView,
        opened: Option<&Namespace>,
        missing: Option<&Idle>,
    ) -> Result<Plan, ViewError> {
        let mut snapshot = self.snapshot(set, view, opened)?;
        snapshot.halted = missing.cloned().or_else(|| self.undone(set));
        snapshot.write_refused = self.write_refused(set);
        let mut decided = self.plan(&mut snapshot);
        if decided.asks_quotas {
            snapshot.quotas = self.read_quotas(set, &decided.progress.update_revision).await;
            decided = self.plan(&mut snapshot);
        }
        self.quote(set, &mut decided.progress);
        Ok(decided)
    }

    /// Everything that is seen of the set.
    fn snapshot(&self, set: &Set, view: &SetView, opened: Option<&Namespace>) -> Result<Snapshot, ViewError> {
        let mut claims = BTreeMap::new();
        let mut pods = BTreeMap::new();
        if let Some(opened) = opened {
            claims = claims_of(view, opened)?;
            pods = opened.pods.of(view, claims.keys());
        }
        let modified = opened.map(|opened| self.modified(set, view, opened, &claims));
        let modified = modified.unwrap_or_default();
        let mut previous = self
            .report_of(set)
            .and_then(|rollout| views::previous(&rollout, &view.uid));
        let due = self.unblock.take_due(&view.namespace, &view.name);
        let refusals = self.remember(set, |memory| {
            if let Some(previous) = &mut previous {
                previous.claims.extend(memory.unlisted.clone());
            }
            memory.bring_up(&mut claims);
            if due {
                let class = |uid: &str| claims.values().find(|claim| claim.uid == uid)?.storage_class_name();
                let set = [&*view.namespace, &*view.name];
                memory.retry_now(|uid, refusal| self.unblock.lets_pass(set, &refusal.message, class(uid)));
            }
            memory.refusals.clone()
        });
        let words: Vec<&str> = refusals.values().map(|refusal| &*refusal.message).collect();
        self.unblock.waits([&view.namespace, &view.name, &view.uid], &words);
        let siblings = if opened.is_some() {
            self.siblings(view)
        } else {
            Vec::new()
        };
        Ok(Snapshot {
            now: (self.clock)(),
            settings: Arc::clone(&self.settings),
            halted: None,
            write_refused: self.write_refused(set),
            not_evicted: self.not_evicted(set),
            staged_at: set.staged_at,
            set: view.clone(),
            claims,
            pods,
            siblings,
            refusals,
            quotas: self.quotas(set, view),
            budgets: Budgets {
                modified,
                ..Budgets::default()
            },
            previous,
        })
    }

    /// Why the last write to the set was refused, and when it is tried again.
    pub(super) fn write_refused(&self, set: &Set) -> Option<(String, Seconds)> {
        let now = (self.clock)();
        let refused = self.remembered(set, |memory| memory.refused.clone()).flatten()?;
        let retry_at = refused.retry_at(now);
        Some((refused.what, retry_at))
    }

    /// The last write to the set was put back, and it is not yet time to try it again.
    pub(super) fn undone(&self, set: &Set) -> Option<Idle> {
        let now = (self.clock)();
        let undone = self.remembered(set, |memory| memory.undone.clone()).flatten()?;
        let retry_at = undone.retry_at(now);
        (retry_at > now).then_some(Idle::WriteUndone {
            what: undone.what,
            retry_at,
        })
    }

    /// The other sets of the namespace that could give a name to a claim of this one: where `<template>-<set>` can be
    /// cut at another dash, and the set after it exists.
    fn siblings(&self, set: &SetView) -> Vec<Sibling> {
        let stems = set
            .live
            .iter()
            .map(|template| format!("{}-{}", template.name, set.name));
        let mut names: Vec<String> = Vec::new();
        for stem in stems {
            let cuts = stem.match_indices('-').map(|(at, _)| stem[at + 1..].to_owned());
            names.extend(cuts.filter(|name| *name != set.name));
        }
        names.sort_unstable();
        names.dedup();
        let found = names.into_iter().filter_map(|name| {
            let other = self.sets.get(&ObjectRef::new(&name).within(&set.namespace))?;
            Some(Sibling {
                set: name,
                templates: other.template_names(),
            })
        });
        found.collect()
    }
}

/// The claims that exist under the names of the set's claims.
fn claims_of(set: &SetView, opened: &Namespace) -> Result<BTreeMap<String, Claim>, ViewError> {
    let mut claims = BTreeMap::new();
    for template in set.wanted() {
        for ordinal in set.ordinals() {
            let name = format!("{}-{}-{ordinal}", template.name, set.name);
            if let Some(claim) = opened.claims.get(&ObjectRef::new(&name).within(&set.namespace)) {
                claims.insert(name, views::claim(&claim)?);
            }
        }
    }
    Ok(claims)
}

//! Gathers the snapshot that the decision reads.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::runtime::reflector::ObjectRef;

use super::context::{Context, ReCreating};
use super::namespaces::Namespace;
use super::slim_set::SlimSet;
use super::views;
use super::views::ViewError;
use crate::api::Seconds;
use crate::claims::Claim;
use crate::gate::{Idle, SetView, target};
use crate::rollout::machine::Undone;
use crate::rollout::volume_snapshot::ReCreateAnswers;
use crate::rollout::{Budgets, Previous, Refusal, Sibling, Snapshot};

impl Context {
    /// The StatefulSet as the decision reads it, with the defaults of the flags.
    pub(super) fn view(&self, set: &SlimSet) -> Result<SetView, ViewError> {
        let mut view = views::set(set)?;
        view.max_in_motion.get_or_insert(self.max_in_motion);
        Ok(view)
    }

    /// What a decision about the set reads, without answers to questions.
    pub(super) fn observe(
        &self,
        set: &SlimSet,
        (view, opened, missing): (&SetView, Option<&Namespace>, Option<&Idle>),
    ) -> Result<Snapshot, ViewError> {
        let mut snapshot = self.snapshot(set, view, opened)?;
        let is_off = self.recreating == ReCreating::Off && target::recreates(view);
        let missing = opened
            .and_then(|opened| opened.unread(view))
            .or_else(|| missing.cloned());
        let undone = || self.undone(set);
        let halted = match missing {
            // It is a write, too.
            Some(Idle::StagedBeforePolicy) => undone().or(missing),
            _ => missing.or_else(undone),
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
        let modified = opened.map(|opened| self.modified(set, view, opened, &claims));
        let modified = modified.unwrap_or_default();
        let mut previous = self
            .report_of(set)
            .and_then(|rollout| views::previous(&rollout, &view.uid));
        let now = (self.clock)();
        let refusals = self.overlay(set, view, (&mut claims, &mut previous), now);
        let siblings = if opened.is_some() {
            self.siblings(view)
        } else {
            Vec::new()
        };
        let known = self.remember(set, |memory| {
            let fault = |denied: &Option<Undone>| denied.as_ref().map(|denied| denied.fault(now));
            let faults = [&memory.write_denied, &memory.not_evicted, &memory.not_recreated].map(fault);
            let events = memory.claim_events.iter();
            let events = events.map(|(uid, event)| (uid.clone(), event.message.clone()));
            (faults, memory.reached.clone(), events.collect())
        });
        let ([write_refused, not_evicted, not_recreated], reached, claim_events) = known;
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
            quotas: self.quotas(set, view),
            budgets: Budgets {
                modified,
                ..Budgets::default()
            },
            previous,
            reached,
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
        let due = self.unblock.take_due(&view.namespace, &view.name);
        let denials = self.remember(set, |memory| {
            if let Some(previous) = previous {
                previous.claims.extend(memory.unlisted.clone());
            }
            memory.overlay(claims.values_mut(), now);
            if due {
                let class = |uid: &str| claims.values().find(|claim| claim.uid == uid)?.storage_class_name();
                let set = [&*view.namespace, &*view.name];
                memory.retry_now(|uid, denial| self.unblock.lets_pass(set, &denial.message, class(uid)));
            }
            memory.denials.clone()
        });
        let messages: Vec<&str> = denials.values().map(|denial| &*denial.message).collect();
        self.unblock
            .set_denials([&view.namespace, &view.name, &view.uid], &messages);
        denials
    }

    /// Set if somebody undid the last write to the set, and it is not yet time to retry it.
    pub(super) fn undone(&self, set: &SlimSet) -> Option<Idle> {
        let now = (self.clock)();
        let undone = self.remembered(set, |memory| memory.undone.clone()).flatten()?;
        let (what, retry_at) = undone.fault(now);
        (retry_at > now).then_some(Idle::WriteUndone { what, retry_at })
    }

    /// Other sets of the namespace whose PVC names can equal those of this set: `<template>-<set>` is split at
    /// another dash, and a set with the name after it exists.
    fn siblings(&self, set: &SetView) -> Vec<Sibling> {
        let stems = set
            .live
            .iter()
            .map(|template| format!("{}-{}", template.name, set.name));
        let mut names: Vec<String> = Vec::new();
        for stem in stems {
            let names_after_dash = stem.match_indices('-').map(|(at, _)| stem[at + 1..].to_owned());
            names.extend(names_after_dash.filter(|name| *name != set.name));
        }
        names.sort_unstable();
        names.dedup();
        let found = names.into_iter().filter_map(|name| {
            let at = ObjectRef::new(&name).within(&set.namespace);
            let other = self.sets.get(&at).or_else(|| self.others.as_ref()?.get(&at))?;
            Some(Sibling {
                set: name,
                templates: other.template_names(),
            })
        });
        found.collect()
    }
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

#[cfg(test)]
mod tests {
    use kube::Client;
    use kube::client::Body;
    use kube::runtime::reflector::store;
    use kube::runtime::watcher::Event;
    use serde_json::json;

    use super::{Context, Sibling};
    use crate::controller::fixtures;
    use crate::controller::slim_set::SlimSet;

    fn set(name: &str, template: &str) -> SlimSet {
        let templates =
            json!([{"metadata": {"name": template}, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}]);
        let metadata = json!({"name": name, "namespace": "default", "uid": name});
        let spec = json!({"selector": {"matchLabels": {}}, "volumeClaimTemplates": templates});
        serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap()
    }

    /// `data-a-web-0` is a PVC of `data` in the set `a-web`, and of `data-a` in `web`.
    #[tokio::test]
    async fn set_of_either_kind_may_have_the_same_pvc_names() {
        for (what, apps, kruise, is_sibling) in [
            ("none", "db", "db", false),
            ("one of Kubernetes", "web", "db", true),
            ("one of OpenKruise", "db", "web", true),
        ] {
            let [(sets, mut of_apps), (others, mut of_kruise)] = [store(), store()];
            of_apps.apply_watcher_event(&Event::Apply(set(apps, "data-a")));
            of_kruise.apply_watcher_event(&Event::Apply(set(kruise, "data-a")));
            let never = |_: axum::http::Request<Body>| {
                std::future::pending::<Result<axum::http::Response<Body>, kube::Error>>()
            };
            let client = Client::new(tower::service_fn(never), "default");
            let context = Context {
                others: Some(others),
                ..fixtures::context(&client, (sets, store().0))
            };
            let view = context.view(&set("a-web", "data")).unwrap();
            let sibling = Sibling {
                set: "web".to_owned(),
                templates: vec!["data-a".to_owned()],
            };
            let expected: Vec<_> = is_sibling.then_some(sibling).into_iter().collect();
            assert_eq!(context.siblings(&view), expected, "{what}");
        }
    }
}

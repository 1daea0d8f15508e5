//! What the watches show.

use std::collections::BTreeSet;
use std::sync::Arc;

use kube::ResourceExt;
use kube::runtime::reflector::{ObjectRef, Store};

use super::namespaces::{Namespace, Namespaces};
use super::unblock::Unblock;
use crate::controller::crd::ClaimRollout;
use crate::controller::objects::packed_rollout::PackedRollout;
use crate::controller::objects::set::SlimSet;
use crate::gate::SetView;
use crate::rollout::Sibling;

/// The objects of the watches, and the watches that are opened for a rollout.
pub(crate) struct WatchCache {
    pub(crate) sets: Store<SlimSet>,
    /// The sets of the other kind, if they are watched: some of their PVCs may have the same names.
    pub(crate) others: Option<Store<SlimSet>>,
    pub(crate) rollouts: Store<PackedRollout>,
    pub(crate) namespaces: Namespaces,
    pub(crate) unblock: Unblock,
}

impl WatchCache {
    /// The sets of both kinds.
    pub(crate) fn all_sets(&self) -> Vec<Arc<SlimSet>> {
        let others = self.others.as_ref().map(Store::state).unwrap_or_default();
        [self.sets.state(), others].concat()
    }

    /// True iff this set still exists, and no other one has its name.
    pub(crate) fn exists(&self, set: &SlimSet) -> bool {
        let known = self.sets.get(&ObjectRef::from_obj(set));
        known.is_some_and(|known| known.uid() == set.uid())
    }

    /// The set of the other kind with the name of this one.
    pub(crate) fn namesake(&self, set: &SlimSet) -> Option<Arc<SlimSet>> {
        self.others.as_ref()?.get(&ObjectRef::from_obj(set))
    }

    /// The ClaimRollout of the set. That of a set of the other kind with its name is none.
    pub(crate) fn report_of(&self, set: &SlimSet) -> Option<Arc<ClaimRollout>> {
        let other = self.namesake(set);
        self.named(set)
            .filter(|seen| other.is_none_or(|other| !is_about(seen, &other)))
    }

    /// True iff the ClaimRollout with the name of the set is that of a set of the other kind, or will be.
    pub(crate) fn is_report_of_other(&self, set: &SlimSet) -> bool {
        self.namesake(set).is_some_and(|other| {
            let is_of_other = |seen: Arc<ClaimRollout>| is_about(&seen, &other);
            other.is_managed() || self.named(set).is_some_and(is_of_other)
        })
    }

    /// The ClaimRollout with the name of the set.
    fn named(&self, set: &SlimSet) -> Option<Arc<ClaimRollout>> {
        let at = ObjectRef::new(&set.name_any()).within(&set.namespace().unwrap_or_default());
        self.rollouts.get(&at)?.read().map(Arc::new)
    }

    /// The watch on the PVCs and Pods of the set.
    pub(crate) fn opened(&self, set: &SlimSet, view: &SetView) -> Arc<Namespace> {
        let name = [&*view.namespace, &*view.name, &*view.uid];
        self.namespaces.open(name, set.template_names())
    }

    /// Ends the watches for the set.
    pub(crate) fn close(&self, set: &SlimSet) {
        let (namespace, name) = (set.namespace().unwrap_or_default(), set.name_any());
        let set = [&*namespace, &*name, &*set.uid().unwrap_or_default()];
        self.namespaces.close(set);
        self.unblock.set_denials(set, &[]);
    }

    /// Ends the watches for sets that do not exist any more. `is_known` is called with their uids.
    pub(crate) fn retain(&self, is_known: impl Fn(&str) -> bool) {
        self.namespaces.keep(&is_known);
        self.unblock
            .retain(is_known, |namespace, set| self.has_name(namespace, set));
    }

    /// True iff a set has this name.
    pub(crate) fn has_name(&self, namespace: &str, set: &str) -> bool {
        self.sets.get(&ObjectRef::new(set).within(namespace)).is_some()
    }

    /// Other sets of the namespace whose PVC names can equal those of this set: `<template>-<set>` is split at
    /// another dash, and a set with the name after it exists.
    pub(crate) fn siblings(&self, set: &SetView) -> Vec<Sibling> {
        let stems = set
            .live
            .iter()
            .map(|template| format!("{}-{}", template.name, set.name));
        let mut names = BTreeSet::new();
        for stem in stems {
            let names_after_dash = stem.match_indices('-').map(|(at, _)| stem[at + 1..].to_owned());
            names.extend(names_after_dash.filter(|name| *name != set.name));
        }
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

/// True iff the ClaimRollout is about this set.
fn is_about(report: &ClaimRollout, set: &SlimSet) -> bool {
    set.uid().as_ref() == Some(&report.spec.set_ref.uid)
}

#[cfg(test)]
mod tests {
    use kube::runtime::reflector::store;
    use kube::runtime::watcher::Event;
    use serde_json::json;

    use super::{SetView, Sibling};
    use crate::controller::fixtures;
    use crate::controller::objects::set::SlimSet;
    use crate::controller::objects::views;

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
            let mut cache = fixtures::context(&fixtures::silent(), (sets, store().0)).observer.cache;
            cache.others = Some(others);
            let view: SetView = views::set(&set("a-web", "data")).unwrap();
            let sibling = Sibling {
                set: "web".to_owned(),
                templates: vec!["data-a".to_owned()],
            };
            let expected: Vec<_> = is_sibling.then_some(sibling).into_iter().collect();
            assert_eq!(cache.siblings(&view), expected, "{what}");
        }
    }
}

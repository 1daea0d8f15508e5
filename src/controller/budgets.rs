//! The limits of storage classes in a reconcile.

use std::collections::BTreeMap;

use kube::ResourceExt;
use kube::runtime::reflector::ObjectRef;

use super::context::Context;
use super::namespaces::Namespace;
use super::set_kind::SetKind;
use super::slim_set::SlimSet;
use crate::api::Seconds;
use crate::claims::Claim;
use crate::gate::SetView;
use crate::rollout::{ApplyClaim, Plan, Snapshot, spending};
use crate::templates::{Phase, StagedChange, keys};

impl Context {
    /// The plan within the limits of storage classes over all StatefulSets.
    pub(super) fn plan(&self, snapshot: &mut Snapshot) -> Plan {
        self.places.plan(snapshot, || {
            let sets = self.all_sets();
            sets.iter()
                .filter(|set| rolls_out(set))
                .filter_map(|set| set.uid())
                .collect()
        })
    }

    /// When this controller modified the PVCs of the set: from their annotations, and from replies that the watch
    /// does not show yet.
    pub(super) fn modified(
        &self,
        set: &SlimSet,
        view: &SetView,
        opened: &Namespace,
        claims: &BTreeMap<String, Claim>,
    ) -> BTreeMap<String, Vec<Seconds>> {
        if !self.places.has_limits() {
            return BTreeMap::new();
        }
        let known = self
            .remembered(set, |memory| memory.modified.clone())
            .unwrap_or_default();
        let times = claims.values().map(|claim| {
            let seen = opened.claims.get(&ObjectRef::new(&claim.name).within(&view.namespace));
            let text = seen.as_ref().and_then(|seen| seen.annotations().get(keys::MODIFIED));
            let mut times = text.map_or_else(Vec::new, |text| spending::read(text));
            times.extend(known.get(&claim.uid).into_iter().flatten());
            (claim.uid.clone(), times)
        });
        times.collect()
    }

    /// Notes that the PVC was modified, until the watch shows it.
    pub(super) fn note_modified(&self, set: &SlimSet, apply: &ApplyClaim) {
        if let Some(text) = apply.annotations.get(keys::MODIFIED) {
            let times = spending::read(text);
            self.remember(set, |memory| memory.modified.insert(apply.uid.clone(), times));
        }
    }
}

/// True iff a rollout of the set is in progress.
fn rolls_out(set: &SlimSet) -> bool {
    if set.kind == SetKind::OpenKruise {
        return set.is_managed();
    }
    let uid = set.uid().unwrap_or_default();
    let change = set.annotation(keys::STAGED).map(|text| StagedChange::read(text, &uid));
    change.is_some_and(|change| change.is_ok_and(|change| change.phase == Phase::RollingOut))
}

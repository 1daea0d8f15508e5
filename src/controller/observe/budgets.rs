//! The limits of storage classes in a reconcile.

use std::collections::BTreeMap;
use std::sync::Arc;

use kube::ResourceExt;
use kube::runtime::reflector::ObjectRef;

use crate::api::Seconds;
use crate::claims::Claim;
use crate::controller::memory::memories::Memories;
use crate::controller::objects::set::SlimSet;
use crate::controller::objects::set_kind::SetKind;
use crate::controller::watch::namespaces::Namespace;
use crate::rollout::{ApplyClaim, spending};
use crate::templates::{Phase, StagedChange, keys};

/// When a controller modified PVCs, by their uid.
type Modified = BTreeMap<String, Vec<Seconds>>;

/// When this controller modified these PVCs: from their annotations, and from replies that the watch does not show yet.
pub(crate) fn modified<'c>(
    opened: &Namespace,
    namespace: &str,
    claims: impl Iterator<Item = &'c Claim>,
    replies: &Modified,
) -> Modified {
    let times = claims.map(|claim| {
        let seen = opened.claims.get(&ObjectRef::new(&claim.name).within(namespace));
        let text = seen.as_ref().and_then(|seen| seen.annotations().get(keys::MODIFIED));
        let mut times = text.map_or_else(Vec::new, |text| spending::read(text));
        times.extend(replies.get(&claim.uid).into_iter().flatten());
        (claim.uid.clone(), times)
    });
    times.collect()
}

/// Notes that the PVC was modified, until the watch shows it.
pub(crate) fn note_modified(memories: &Memories, set: &SlimSet, apply: &ApplyClaim) {
    if let Some(text) = apply.annotations.get(keys::MODIFIED) {
        let times = spending::read(text);
        memories.remember(set, |memory| memory.modified.insert(apply.uid.clone(), times));
    }
}

/// The uids of the sets that roll out.
pub(crate) fn rollouts(sets: &[Arc<SlimSet>]) -> Vec<String> {
    sets.iter()
        .filter(|set| rolls_out(set))
        .filter_map(|set| set.uid())
        .collect()
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

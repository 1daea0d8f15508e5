//! The volumes of templates that are added and removed. The API server denies a Pod that mounts a volume it does not
//! have, but not a StatefulSet with such a Pod template: each `volumeClaimTemplate` adds a volume of its name.

use super::live::{self, LiveSet};
use crate::templates::pod_volumes::mounts_without_volume;
use crate::templates::{Diff, StagedChange};

/// The difference between the live and the staged templates.
fn diff(set: &LiveSet, change: &StagedChange) -> Diff {
    let live = live::read_templates(set.templates()).unwrap_or_default();
    Diff::between(&live, &change.templates)
}

/// True iff the change adds a template: until it is live, Pods wait at the gate, whatever their revision is.
pub(super) fn adds(set: &LiveSet, change: &StagedChange) -> bool {
    !diff(set, change).added.is_empty()
}

/// True iff no Pod can be created before the set is replaced, because its template mounts a volume of an added one.
pub(super) fn is_stuck(set: &LiveSet, change: &StagedChange) -> bool {
    mounted(set, &diff(set, change).added).is_some()
}

/// The removed template whose volume the Pod template mounts, so that no Pod could be created.
pub(super) fn missed(set: &LiveSet, change: &StagedChange) -> Option<String> {
    mounted(set, &diff(set, change).removed)
}

/// The first of these volumes that the Pod template mounts and does not have itself.
fn mounted(set: &LiveSet, volumes: &[String]) -> Option<String> {
    volumes.first()?;
    let spec = set.pod_template()["spec"].clone().into();
    let mut volumes = volumes.iter();
    volumes.find(|name| mounts_without_volume(&spec, name)).cloned()
}

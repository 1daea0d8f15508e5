//! Volumes that a Pod template mounts before they exist.
//!
//! The live templates stay until the set is replaced, and the API server denies a Pod template that mounts a volume of
//! none of them: with 422, on which some tools delete the set (Kubernetes 1.37, not yet 1.33: `ValidateStatefulSetSpec` in
//! `pkg/apis/apps/validation`).

use crate::templates::pod_volumes::mounts_without_volume;
use crate::templates::{ClaimTemplate, StagedChange};
use crate::wire::Object;

/// The first added template whose volume the Pod template mounts and does not have itself. The API server judges a Pod
/// template that cannot be read.
pub(super) fn too_early<'c>(set: &Object<'_>, live: &[ClaimTemplate], change: &'c StagedChange) -> Option<&'c str> {
    let is_live = |name: &str| live.iter().any(|template| template.name == name);
    let names = change.templates.iter().map(|template| &*template.name);
    let mut added = names.filter(|name| !is_live(name)).peekable();
    added.peek()?;
    let spec = set.pod_template_spec()?;
    added.find(|name| mounts_without_volume(&spec, name))
}

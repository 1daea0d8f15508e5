//! Converts objects to the input of the other decisions.

use crate::gate::{Pod, SetView};
use crate::templates::ClaimTemplate;
use crate::wire::Object;
use crate::wire::review::Text;

/// The fields of a set that decide whether its staged change is valid and which replicas it reaches; `None` if the set
/// cannot be decoded. Pods, Pod management and status are not set.
pub(super) fn set(set: &Object<'_>) -> Option<SetView> {
    let metadata = &set.metadata;
    let strategy = set.pod_strategy().ok()?;
    let labels = set.match_labels().ok()?;
    Some(SetView {
        namespace: metadata.namespace.to_string(),
        name: metadata.name.to_string(),
        terminating: metadata.terminating,
        controller: metadata.controller.clone(),
        replicas: natural(set.replicas()),
        first_ordinal: natural(set.first_ordinal().ok()?),
        match_labels: labels.map(Text::into_owned),
        live: ClaimTemplate::read_list(set.templates()).ok()?,
        partition: natural(strategy.partition),
        strategy: strategy.kind,
        ..SetView::annotated(&metadata.uid, |key| metadata.annotations.get(key))
    })
}

/// A Pod to be deleted; `None` if it cannot be decoded.
pub(super) fn pod(pod: &Object<'_>) -> Option<Pod> {
    let (set_name, set_uid) = match &pod.metadata.controller {
        Some(owner) if owner.kind == "StatefulSet" && owner.group() == "apps" => (&*owner.name, &*owner.uid),
        Some(_) => ("", ""),
        None => (pod.metadata.name.rsplit_once('-').map_or("", |(set, _)| set), ""),
    };
    let deleted = pod.deleted_pod().ok()?;
    Some(Pod {
        name: pod.metadata.name.to_string(),
        set_name: set_name.to_owned(),
        set_uid: set_uid.to_owned(),
        terminating: pod.metadata.terminating,
        has_ended: deleted.has_ended,
        disrupted: deleted.disrupted,
        mounts_claims: deleted.mounts_claims,
    })
}

pub(super) fn natural(number: i64) -> u32 {
    u32::try_from(number.max(0)).unwrap_or(u32::MAX)
}

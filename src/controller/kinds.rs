//! Every kind that is watched or listed, for tests and the fuzzer.

use std::sync::LazyLock;

use kube::core::{ObjectList, WatchEvent};
use serde::de::DeserializeOwned;

use super::objects::blockers::{SlimLimitRange, SlimQuota, SlimStorageClass};
use super::objects::claim::SlimClaim;
use super::objects::pod::SlimPod;
use super::objects::rollout::SlimRollout;
use super::objects::set::{KruiseSet, Patched, SlimSet};
use super::read::item::ListItem;
use super::read::metadata::Bare;
use super::registrations::registered::{Binding, Configuration, KubewardenPolicy, RegisteredGuardPolicy};
use super::replacing::parts::SentRevision;
use super::report::history::StoredRevision;

/// Reads a list of this object between two others, and an event with it. Returns the number of objects of the list that
/// can be read.
pub(super) type Reads = fn(&str) -> Result<usize, String>;

/// The keys that the readers know, and one that they do not know.
#[cfg_attr(not(fuzzing), allow(unreachable_pub, reason = "only the fuzzer is another crate"))]
pub static FIELDS: LazyLock<Vec<&'static str>> = LazyLock::new(|| {
    let fields = "
        metadata spec status name namespace uid resourceVersion generation labels annotations managedFields fieldsV1
        f:spec ownerReferences controller finalizers creationTimestamp deletionTimestamp time conditions type
        lastTransitionTime volumes persistentVolumeClaim replicas selector matchLabels volumeClaimTemplates
        updateStrategy rollingUpdate hard used limits resources requests storage webhooks rules data
        claim-rollout.io/unread
    ";
    fields.split_whitespace().collect()
});

/// Every kind that is watched or listed.
pub(super) const KINDS: [(&str, Reads); 16] = [
    ("StatefulSet", count::<SlimSet>),
    ("StatefulSet of OpenKruise", count::<KruiseSet>),
    ("reply of a StatefulSet", count::<Patched>),
    ("PVC", count::<SlimClaim>),
    ("Pod", count::<SlimPod>),
    ("ControllerRevision", count::<SentRevision>),
    ("ControllerRevision of the history", count::<StoredRevision>),
    ("ResourceQuota", count::<SlimQuota>),
    ("LimitRange", count::<SlimLimitRange>),
    ("StorageClass", count::<SlimStorageClass>),
    ("ClaimRollout", count::<SlimRollout>),
    ("webhook configuration", count::<Configuration>),
    ("policy of the guard", count::<RegisteredGuardPolicy>),
    ("binding of the guard", count::<Binding>),
    ("policy of Kubewarden", count::<KubewardenPolicy>),
    ("metadata", count::<Bare>),
];

/// A list of this object between two others.
pub(super) fn list(object: &str) -> String {
    let other = |name: &str| format!("{{\"metadata\":{{\"name\":\"{name}\"}}}}");
    let (before, after) = (other("a"), other("c"));
    let metadata = "{\"resourceVersion\":\"1\"}";
    format!("{{\"kind\":\"List\",\"apiVersion\":\"v1\",\"metadata\":{metadata},\"items\":[{before},{object},{after}]}}")
}

fn count<K: Clone + DeserializeOwned>(object: &str) -> Result<usize, String> {
    // The API server sends the type first.
    let event = format!("{{\"type\":\"MODIFIED\",\"object\":{object}}}");
    serde_json::from_str::<WatchEvent<ListItem<K>>>(&event).map_err(|error| error.to_string())?;
    let list = serde_json::from_str::<ObjectList<ListItem<K>>>(&list(object)).map_err(|error| error.to_string())?;
    Ok(list.items.into_iter().filter_map(|item| item.read().ok()).count())
}

/// Reads this object between two others, as every kind that is watched or listed.
///
/// # Panics
/// If the others are not read, or an event with the object ends a watch.
#[cfg(fuzzing)]
pub fn read_beside_others(object: &str) {
    // Nobody but the controller writes journals, so they are read strictly.
    const JOURNALS: (&str, Reads) = ("journal", count::<k8s_openapi::api::core::v1::Secret>);
    for (kind, read) in KINDS.into_iter().chain([JOURNALS]) {
        let count = read(object);
        assert!(matches!(count, Ok(2 | 3)), "{kind}: {count:?} with {object}");
    }
}

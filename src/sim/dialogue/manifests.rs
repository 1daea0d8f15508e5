//! The objects of the model as the JSON that a client gets.

use serde_json::{Value, json};

use super::observed::Revisions;
use crate::sim::admission_adapter::manifests::{claim_text, set_text};
use crate::sim::names::{Names, TIER};
use crate::sim::objects::{ClaimObject, ClaimOwner, SetObject, Uid};

/// The uid of the StatefulSet in these manifests.
pub(super) const UID: &str = "u1";

/// The StatefulSet.
pub(super) fn set(set: &SetObject, names: &mut Names, revisions: &mut Revisions) -> Value {
    let mut spec = set.spec;
    if let Some(change) = &mut spec.staged {
        change.uid = Uid::from(change.uid != set.uid) + 1;
    }
    for target in spec.ready.map(|(target, _)| target).iter().chain(&spec.withdraw) {
        revisions.learn(&names.revision(target), target);
    }
    let mut manifest: Value = serde_json::from_str(&set_text(names, &spec, set.owned)).unwrap_or_default();
    manifest["metadata"]["generation"] = json!(1);
    manifest["status"]["observedGeneration"] = json!(u8::from(set.status.observed));
    manifest
}

/// A PVC; `set` is the existing StatefulSet.
pub(super) fn claim(
    name: &str,
    claim: &ClaimObject,
    set: Option<Uid>,
    names: &mut Names,
    revisions: &mut Revisions,
) -> Value {
    if let Some(target) = &claim.revision {
        revisions.learn(&names.revision(target), target);
    }
    let mut manifest: Value = serde_json::from_str(&claim_text(names, name, claim)).unwrap_or_default();
    let metadata = &mut manifest["metadata"];
    if claim.tier != 0 {
        metadata["labels"][TIER] = format!("t{}", claim.tier).into();
    }
    if claim.our_tier.is_ours() {
        metadata["managedFields"][0]["fieldsV1"]["f:metadata"]["f:labels"]["f:tier"] = json!({});
    }
    let owner = match claim.owner {
        ClaimOwner::None => return manifest,
        ClaimOwner::Set(uid) if set == Some(uid) => UID,
        _ => "other",
    };
    metadata["ownerReferences"] = json!([{"uid": owner}]);
    manifest
}

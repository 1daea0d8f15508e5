//! PersistentVolumeClaims reduced to the fields that are read.

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::claims::claim::ClaimError;
use crate::claims::{Claim, Manager};
use crate::controller::read::{managers, metadata};
use crate::templates::keys;

/// A PersistentVolumeClaim.
#[derive(Clone, Debug, Deserialize, Resource)]
#[resource(inherit = "PersistentVolumeClaim")]
#[serde(try_from = "Box<RawValue>")]
pub(crate) struct SlimClaim {
    /// The identity, labels and annotations.
    pub(crate) metadata: ObjectMeta,
    /// The PVC as the decisions read it. Neither an invalid PVC nor one with strange managed fields makes the whole list
    /// fail.
    pub(crate) read: Result<Claim, ClaimError>,
}

impl SlimClaim {
    /// The same with only the annotation with the times of modifications, as a watch keeps it.
    pub(crate) fn trimmed(mut self) -> Self {
        let metadata = &mut self.metadata;
        metadata.labels = None;
        let modified = metadata
            .annotations
            .as_mut()
            .and_then(|all| all.remove_entry(keys::MODIFIED));
        metadata.annotations = modified.map(|modified| [modified].into());
        self
    }
}

/// A PersistentVolumeClaim as the API server sends it.
#[derive(Deserialize)]
struct SentClaim<'a> {
    #[serde(borrow)]
    metadata: metadata::Sent<&'a RawValue>,
    #[serde(borrow)]
    spec: Option<&'a RawValue>,
    #[serde(borrow)]
    status: Option<&'a RawValue>,
}

impl TryFrom<Box<RawValue>> for SlimClaim {
    type Error = serde_json::Error;

    fn try_from(sent: Box<RawValue>) -> Result<Self, Self::Error> {
        let SentClaim { metadata, spec, status } = serde_json::from_str(sent.get())?;
        let (metadata, managed_fields) = metadata.split();
        let read = Claim::read(sent.get()).or_else(|_| {
            let mut claim = without_managers(&metadata, spec, status)?;
            let entries = managers::texts(managed_fields).into_iter();
            let managers: Vec<Manager> = entries.map(|entry| Manager::read(entry.get())).collect();
            claim.managed_by(&managers);
            Ok(claim)
        });
        let metadata = ObjectMeta {
            labels: metadata.labels,
            annotations: metadata.annotations,
            name: metadata.name,
            namespace: metadata.namespace,
            uid: metadata.uid,
            resource_version: metadata.resource_version,
            ..ObjectMeta::default()
        };
        Ok(Self { metadata, read })
    }
}

/// Reads a PVC without its managed fields, which users can nest without end.
fn without_managers(
    metadata: &ObjectMeta,
    spec: Option<&RawValue>,
    status: Option<&RawValue>,
) -> Result<Claim, ClaimError> {
    #[derive(Serialize)]
    struct UnmanagedClaim<'a> {
        metadata: &'a ObjectMeta,
        spec: Option<&'a RawValue>,
        status: Option<&'a RawValue>,
    }
    let rest = UnmanagedClaim { metadata, spec, status };
    Claim::read(&serde_json::to_string(&rest).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Claim, SlimClaim};

    /// Other fields are read as by everybody else, and an entry that cannot be read hides no other.
    #[test]
    fn managed_fields_nested_without_end_hide_nothing() {
        let nested = (0..300).fold(json!({}), |inner, _| json!({ "f:a": inner }));
        let ours = json!({"manager": "claim-rollout", "operation": "Apply", "fieldsV1": {"f:spec": {"f:resources": {"f:requests": {"f:storage": {}}}}}});
        let claim = |managers| {
            let metadata = json!({"name": "data-web-0", "uid": "u", "resourceVersion": "7", "managedFields": managers});
            json!({"metadata": metadata, "spec": {"resources": {"requests": {"storage": "1Gi"}}}, "status": {"phase": "Bound"}})
                .to_string()
        };
        let plain = Claim::read(&claim(json!([ours]))).expect("a PVC");
        assert!(plain.size_is_ours && plain.bound);
        let text = claim(json!([{"manager": "m", "operation": "Update", "fieldsV1": nested}, ours]));
        assert!(Claim::read(&text).is_err(), "too deep");
        let read: SlimClaim = serde_json::from_str(&text).expect("a PVC");
        assert_eq!(read.read, Ok(plain));
    }
}

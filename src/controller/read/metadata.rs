//! The metadata of objects. The API server keeps what users write into the managed fields and the conditions of an object:
//! times that no clock shows, and fields nested without end. None of it makes an object unreadable here.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference, Time};
use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

/// An object of any kind without its content.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Bare {
    #[serde(deserialize_with = "without_managers")]
    pub(crate) metadata: ObjectMeta,
}

/// Metadata as the API server sends it. `F` is what is kept of the managed fields.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "F: Deserialize<'de>"))]
pub(crate) struct Sent<F> {
    name: Option<String>,
    namespace: Option<String>,
    uid: Option<String>,
    resource_version: Option<String>,
    generation: Option<i64>,
    #[serde(default, deserialize_with = "time")]
    creation_timestamp: Option<Time>,
    #[serde(default, deserialize_with = "deletion")]
    deletion_timestamp: Option<Time>,
    labels: Option<BTreeMap<String, String>>,
    annotations: Option<BTreeMap<String, String>>,
    owner_references: Option<Vec<OwnerReference>>,
    finalizers: Option<Vec<String>>,
    managed_fields: Option<F>,
}

impl<F> Sent<F> {
    /// The metadata, and the managed fields, which are not in it.
    pub(crate) fn split(self) -> (ObjectMeta, Option<F>) {
        let metadata = ObjectMeta {
            name: self.name,
            namespace: self.namespace,
            uid: self.uid,
            resource_version: self.resource_version,
            generation: self.generation,
            creation_timestamp: self.creation_timestamp,
            deletion_timestamp: self.deletion_timestamp,
            labels: self.labels,
            annotations: self.annotations,
            owner_references: self.owner_references,
            finalizers: self.finalizers,
            ..ObjectMeta::default()
        };
        (metadata, self.managed_fields)
    }
}

/// Reads metadata without managed fields.
pub(crate) fn without_managers<'de, D: Deserializer<'de>>(sent: D) -> Result<ObjectMeta, D::Error> {
    Sent::<IgnoredAny>::deserialize(sent).map(|sent| sent.split().0)
}

/// Reads a time; none if it is invalid.
pub(crate) fn time<'de, D: Deserializer<'de>>(sent: D) -> Result<Option<Time>, D::Error> {
    let text = Option::<String>::deserialize(sent)?;
    Ok(text.and_then(|text| text.parse().ok()).map(Time))
}

/// An object with any time of deletion is being deleted.
fn deletion<'de, D: Deserializer<'de>>(sent: D) -> Result<Option<Time>, D::Error> {
    let text = Option::<String>::deserialize(sent)?;
    Ok(text.map(|text| Time(text.parse().unwrap_or(Timestamp::UNIX_EPOCH))))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Bare, ObjectMeta, Time};

    fn read(metadata: &Value) -> ObjectMeta {
        let text = json!({ "metadata": metadata }).to_string();
        serde_json::from_str::<Bare>(&text).expect("metadata").metadata
    }

    #[test]
    fn metadata_is_that_of_the_client_without_managers() {
        let sent = json!({
            "name": "web-0", "namespace": "shop", "uid": "u", "resourceVersion": "7", "generation": 2,
            "creationTimestamp": "2026-01-01T00:00:00Z", "deletionTimestamp": "2026-01-02T00:00:00Z",
            "labels": {"app": "web"}, "annotations": {"a": "b"}, "finalizers": ["f"],
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "s", "controller": true}],
        });
        let mut with = sent.clone();
        with["managedFields"] = json!([{"manager": "m", "time": "2026-01-01T00:00:00Z", "fieldsV1": {}}]);
        assert_eq!(read(&with), serde_json::from_value(sent).expect("metadata"));
        assert_eq!(
            read(&json!({"labels": null, "finalizers": null})),
            ObjectMeta::default()
        );
    }

    #[test]
    fn times_that_no_clock_shows_are_no_error() {
        let late = "10000-01-01T11:59:59Z";
        let fields = json!([{"manager": "m", "time": late}]);
        let found = read(&json!({"creationTimestamp": late, "deletionTimestamp": late, "managedFields": fields}));
        assert_eq!(found.creation_timestamp, None);
        assert_eq!(
            found.deletion_timestamp,
            Some(Time(super::Timestamp::UNIX_EPOCH)),
            "it is being deleted"
        );
    }
}

//! ClaimRollouts as they are read. They are reports of this controller: what somebody else made unreadable counts as
//! absent, and is written again.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::NamespaceResourceScope;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::controller::crd::{ClaimRollout, ClaimRolloutSpec, StatefulSetRef};
use crate::controller::read::metadata;

/// A ClaimRollout.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(from = "SentRollout", into = "ClaimRollout")]
pub(crate) struct SlimRollout(pub(crate) ClaimRollout);

/// A ClaimRollout as the API server sends it.
#[derive(Deserialize)]
struct SentRollout {
    #[serde(deserialize_with = "metadata::without_managers")]
    metadata: ObjectMeta,
    spec: Option<Box<RawValue>>,
    status: Option<Box<RawValue>>,
}

impl From<SentRollout> for SlimRollout {
    fn from(sent: SentRollout) -> Self {
        fn read<'a, T: Deserialize<'a>>(part: Option<&'a RawValue>) -> Option<T> {
            serde_json::from_str(part?.get()).ok()
        }
        let name = sent.metadata.name.clone().unwrap_or_default();
        let mut rollout = ClaimRollout::new("", read(sent.spec.as_deref()).unwrap_or_else(|| absent(name)));
        rollout.metadata = sent.metadata;
        rollout.status = read(sent.status.as_deref());
        Self(rollout)
    }
}

/// The `spec` of no set: it differs from every target.
fn absent(name: String) -> ClaimRolloutSpec {
    ClaimRolloutSpec {
        set_ref: StatefulSetRef {
            name,
            ..StatefulSetRef::default()
        },
        ..ClaimRolloutSpec::default()
    }
}

impl From<SlimRollout> for ClaimRollout {
    fn from(read: SlimRollout) -> Self {
        read.0
    }
}

impl Resource for SlimRollout {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind(&(): &()) -> Cow<'_, str> {
        ClaimRollout::kind(&())
    }

    fn group(&(): &()) -> Cow<'_, str> {
        ClaimRollout::group(&())
    }

    fn version(&(): &()) -> Cow<'_, str> {
        ClaimRollout::version(&())
    }

    fn plural(&(): &()) -> Cow<'_, str> {
        ClaimRollout::plural(&())
    }

    fn meta(&self) -> &ObjectMeta {
        &self.0.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.0.metadata
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::SlimRollout;

    fn read(change: impl FnOnce(&mut Value)) -> SlimRollout {
        let set = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "uid": "set-uid"});
        let mut object = json!({
            "apiVersion": "claim-rollout.io/v1alpha1", "kind": "ClaimRollout", "metadata": {"name": "web", "uid": "u"},
            "spec": {"setRef": set, "revision": "r", "templates": [{"a": 1}], "updatePolicy": "InPlace",
                "sync": "LockStep", "replaceSet": "Never"},
            "status": {"startedAt": "2026-01-01T00:00:00Z", "updateRevision": "r"},
        });
        change(&mut object);
        serde_json::from_str(&object.to_string()).expect("a ClaimRollout")
    }

    #[test]
    fn unreadable_part_of_a_report_counts_as_absent() {
        let nested = (0..300).fold(json!({}), |inner, _| json!({ "a": inner }));
        let late = "10000-01-01T11:59:59Z";
        let fields = json!([{"manager": "m", "time": late, "fieldsV1": nested}]);
        type Row<'a> = (&'a str, Box<dyn FnOnce(&mut Value) + 'a>, [bool; 2]);
        let rows: [Row<'_>; 5] = [
            ("readable", Box::new(|_| {}), [true, true]),
            (
                "managed fields",
                Box::new(|object| object["metadata"]["managedFields"] = fields),
                [true, true],
            ),
            (
                "deep templates",
                Box::new(|object| object["spec"]["templates"] = json!([nested.clone()])),
                [false, true],
            ),
            (
                "a late time",
                Box::new(|object| object["status"]["startedAt"] = late.into()),
                [true, false],
            ),
            (
                "no status",
                Box::new(|object| object["status"] = Value::Null),
                [true, false],
            ),
        ];
        for (row, change, expected) in rows {
            let SlimRollout(found) = read(change);
            let names = (found.metadata.name.as_deref(), &*found.spec.set_ref.name);
            assert_eq!(names, (Some("web"), "web"), "{row}");
            assert_eq!([found.spec.revision == "r", found.status.is_some()], expected, "{row}");
        }
    }
}

//! The comparisons of Terraform and Pulumi, whose own code does not build here.

use std::collections::BTreeSet;

use serde_json::Value;

use super::paths::{differences, without};

/// Terraform's `kubernetes_manifest`: `PlanResourceChange` of terraform-provider-kubernetes,
/// `manifest/provider/plan.go`. It sends no request. It plans that the object becomes the manifest; fields that the
/// manifest lacks stay as they were read. A manifest that differs from the one in the state is a change of its own.
/// Labels and annotations are `computed_fields`.
pub(super) fn plan(state: &Value, manifest: &Value, live: &Value) -> BTreeSet<String> {
    let computed = ["/metadata/labels", "/metadata/annotations"];
    let planned = planned(&without(manifest, &computed), live);
    let mut all = differences(&planned, live);
    if state != manifest {
        all.insert("manifest".to_owned());
    }
    all
}

/// The planned object. Terraform fails if the answer to the apply differs.
pub(super) fn planned(manifest: &Value, live: &Value) -> Value {
    match (manifest, live) {
        (Value::Object(manifest), Value::Object(live)) => {
            let mut result = live.clone();
            for (key, value) in manifest {
                result.insert(key.clone(), planned(value, live.get(key).unwrap_or(&Value::Null)));
            }
            Value::Object(result)
        }
        (Value::Array(manifest), Value::Array(live)) => {
            let item = |(index, item)| planned(item, live.get(index).unwrap_or(&Value::Null));
            manifest.iter().enumerate().map(item).collect()
        }
        _ => manifest.clone(),
    }
}

/// Pulumi: `Diff` of pulumi-kubernetes, `provider/pkg/provider/provider.go`. In the live object, the fields of the
/// previous program (`oldLivePruned`) are compared with those of the current one.
pub(super) fn diff_of_inputs(old: &Value, new: &Value, live: &Value) -> BTreeSet<String> {
    differences(&pruned(old, live), new)
}

fn pruned(inputs: &Value, live: &Value) -> Value {
    match (inputs, live) {
        (Value::Object(inputs), Value::Object(live)) => inputs
            .iter()
            .filter_map(|(key, value)| Some((key.clone(), pruned(value, live.get(key)?))))
            .collect(),
        (Value::Array(inputs), Value::Array(live)) => {
            let item = |(index, item)| {
                inputs
                    .get(index)
                    .map_or(Value::clone(item), |input| pruned(input, item))
            };
            live.iter().enumerate().map(item).collect()
        }
        _ => live.clone(),
    }
}

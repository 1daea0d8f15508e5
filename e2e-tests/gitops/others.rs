//! The comparisons of Flux, Terraform and Pulumi.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::paths::{differences, without};

/// kustomize-controller: `hasDrifted` of fluxcd/pkg, `ssa/manager_diff.go`, which decides whether the StatefulSet is
/// applied at all. It compares labels, annotations, and all fields but metadata and status of the dry run and of the
/// live object.
pub(super) fn has_drifted(dry_run: &Value, live: &Value) -> BTreeSet<String> {
    differences(&compared_by_flux(dry_run), &compared_by_flux(live))
}

/// helm-controller's drift detection: `Unstructured` of fluxcd/pkg, `ssa/jsondiff/unstructured.go`. The same, but
/// labels and annotations that are missing in the dry run do not count.
pub(super) fn json_diff(dry_run: &Value, live: &Value) -> BTreeSet<String> {
    let (dry_run, mut live) = (compared_by_flux(dry_run), compared_by_flux(live));
    for part in ["labels", "annotations"] {
        if let (Some(live), Some(dry_run)) = (
            live["metadata"][part].as_object_mut(),
            dry_run["metadata"][part].as_object(),
        ) {
            live.retain(|key, _| dry_run.contains_key(key));
        }
    }
    differences(&dry_run, &live)
}

fn compared_by_flux(object: &Value) -> Value {
    let mut rest = without(object, &["/status"]);
    rest["metadata"] = json!({
        "labels": object["metadata"]["labels"], "annotations": object["metadata"]["annotations"],
    });
    rest
}

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

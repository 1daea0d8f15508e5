//! The comparison of Pulumi, whose own provider takes too long to build for each run of the tests.

use std::collections::BTreeSet;

use serde_json::Value;

use super::paths::differences;

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

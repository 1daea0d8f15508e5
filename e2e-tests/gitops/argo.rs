//! The comparison of Argo CD: gitops-engine, `pkg/diff/diff.go`, now `gitops-engine/pkg/diff/diff.go` of argo-cd.
//!
//! `status` is left out, as Argo CD leaves it out by default (`ignoreResourceStatusField: all`).

use std::collections::BTreeSet;

use anyhow::Context as _;
use serde_json::{Map, Value, json};

use super::paths::{differences, without};

/// The templates, as a JSON pointer: the fields that `jqPathExpressions: [.spec.volumeClaimTemplates]` ignores.
pub(super) const TEMPLATES: &str = "/spec/volumeClaimTemplates";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The lists in the manifests here that are merged by a key; all others are replaced (`patchMergeKey` in the API's
/// types).
const MERGED: [(&str, &str); 2] = [("containers", "name"), ("volumeMounts", "mountPath")];

/// `ThreeWayDiff`: adds to the live object what differs from the manifest, removes what was applied last and is not in
/// the manifest, and compares the result with the live object. First, `Normalize` removes the ignored fields from all
/// three.
pub(super) fn three_way_diff(config: &Value, live: &Value, ignored: &[&str]) -> anyhow::Result<BTreeSet<String>> {
    let last = live["metadata"]["annotations"][LAST_APPLIED]
        .as_str()
        .context("what was applied last")?;
    let ignored = [ignored, &["/status"]].concat();
    // `removeNamespaceAnnotation`
    let of_manifest = [&ignored[..], &["/metadata/namespace"]].concat();
    let last = without(&serde_json::from_str(last)?, &of_manifest);
    let (config, live) = (without(config, &of_manifest), without(live, &ignored));
    let compared = stateful_set_workaround(&last, &live);
    let predicted = patched("", &live, &compared, &config, Some(&last));
    Ok(differences(&predicted, &live))
}

/// `statefulSetWorkaround`: in the templates of the live object, only the fields of the last applied ones are compared,
/// because the API server adds fields.
fn stateful_set_workaround(last: &Value, live: &Value) -> Value {
    let mut compared = live.clone();
    if let (Some(last), Some(templates)) = (last.pointer(TEMPLATES), compared.pointer_mut(TEMPLATES)) {
        *templates = removed(last, templates);
    }
    compared
}

/// `removeFields` of `pkg/utils/json`.
fn removed(config: &Value, live: &Value) -> Value {
    match (config, live) {
        (Value::Object(config), Value::Object(live)) => {
            let both = config
                .iter()
                .filter_map(|(key, value)| Some((key.clone(), removed(value, live.get(key)?))));
            both.collect()
        }
        (Value::Array(config), Value::Array(live)) => {
            let item = |(index, item)| {
                config
                    .get(index)
                    .map_or(Value::clone(item), |config| removed(config, item))
            };
            live.iter().enumerate().map(item).collect()
        }
        _ => live.clone(),
    }
}

/// The result of `strategicpatch.CreateThreeWayMergePatch` and `StrategicMergePatch` on a live object. `compared` is
/// the part that is compared.
fn patched(field: &str, live: &Value, compared: &Value, config: &Value, last: Option<&Value>) -> Value {
    match (live, compared, config) {
        (Value::Object(live), Value::Object(compared), Value::Object(config)) => {
            let nothing = &Value::Null;
            let mut result = live.clone();
            for (key, value) in config {
                let live = live.get(key).unwrap_or(nothing);
                let compared = compared.get(key).unwrap_or(nothing);
                let last = last.and_then(|last| last.get(key));
                result.insert(key.clone(), patched(key, live, compared, value, last));
            }
            let applied = last.and_then(Value::as_object).into_iter().flatten();
            for (key, _) in applied.filter(|(key, _)| !config.contains_key(*key)) {
                result.remove(key);
            }
            Value::Object(result)
        }
        (Value::Array(items), _, Value::Array(config)) => match MERGED.iter().find(|(list, _)| *list == field) {
            Some((_, key)) => merged(key, items, config, last),
            None if compared == &Value::from(config.clone()) => live.clone(),
            None => config.clone().into(),
        },
        _ => config.clone(),
    }
}

/// A list that is merged by a key.
fn merged(key: &str, live: &[Value], config: &[Value], last: Option<&Value>) -> Value {
    fn find<'a>(list: &'a [Value], key: &str, item: &Value) -> Option<&'a Value> {
        list.iter().find(|other| other[key] == item[key])
    }
    let last = last.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let kept = live.iter().filter_map(|item| match find(config, key, item) {
        Some(config) => Some(patched("", item, item, config, find(last, key, item))),
        None => find(last, key, item).is_none().then(|| item.clone()),
    });
    let new = config.iter().filter(|item| find(live, key, item).is_none());
    kept.chain(new.cloned()).collect()
}

/// `serverSideDiff`: compares the answer to a dry run of server-side apply with the live object; without `webhooks`
/// (`IncludeMutationWebhook=true`) only after [`remove_webhook_mutation`].
pub(super) fn server_side_diff(predicted: &Value, live: &Value, manager: &str, webhooks: bool) -> BTreeSet<String> {
    let predicted = if webhooks {
        predicted.clone()
    } else {
        remove_webhook_mutation(predicted, live, manager)
    };
    let left_out = ["/status", "/metadata/managedFields", "/metadata/resourceVersion"];
    differences(&without(&predicted, &left_out), &without(live, &left_out))
}

/// `removeWebhookMutation`: fields that the manager does not own are taken from the live object, and fields that are
/// not predicted are removed.
fn remove_webhook_mutation(predicted: &Value, live: &Value, manager: &str) -> Value {
    let mut fields = json!({});
    for entry in predicted["metadata"]["managedFields"].as_array().into_iter().flatten() {
        if entry["manager"] == manager {
            unite(&mut fields, &entry["fieldsV1"]);
        }
    }
    let mut result = owned(predicted, live, &fields);
    remove_missing(&mut result, predicted, live);
    result
}

/// `fieldpath.Set.Union`
fn unite(fields: &mut Value, more: &Value) {
    if let (Some(fields), Some(more)) = (fields.as_object_mut(), more.as_object()) {
        for (key, value) in more {
            unite(fields.entry(key).or_insert_with(|| json!({})), value);
        }
    }
}

/// The live object with the owned fields of the predicted one.
fn owned(predicted: &Value, live: &Value, fields: &Value) -> Value {
    let fields = fields.as_object().cloned().unwrap_or_default();
    let is_leaf = fields.keys().all(|key| key == ".");
    match (predicted, live) {
        _ if is_leaf => predicted.clone(),
        (Value::Array(predicted), Value::Array(live)) => predicted
            .iter()
            .zip(live)
            .map(|(predicted, live)| match of_item(&fields, predicted) {
                Some(fields) => owned(predicted, live, fields),
                None => live.clone(),
            })
            .collect(),
        (Value::Object(predicted), _) => {
            let mut result = live.as_object().cloned().unwrap_or_default();
            let named = fields
                .iter()
                .filter_map(|(key, fields)| Some((key.strip_prefix("f:")?, fields)));
            for (key, fields) in named {
                if let Some(value) = predicted.get(key) {
                    let live = live.get(key).unwrap_or(&Value::Null);
                    result.insert(key.to_owned(), owned(value, live, fields));
                }
            }
            Value::Object(result)
        }
        _ => predicted.clone(),
    }
}

/// The fields of an item of a list: those under `k:{"name":"main"}`.
fn of_item<'a>(fields: &'a Map<String, Value>, item: &Value) -> Option<&'a Value> {
    let is_it = |key: &str| {
        let key: Option<Value> = key.strip_prefix("k:").and_then(|key| serde_json::from_str(key).ok());
        let keys = key.as_ref().and_then(Value::as_object)?;
        Some(keys.iter().all(|(name, value)| &item[name] == value))
    };
    fields
        .iter()
        .find(|(key, _)| is_it(key) == Some(true))
        .map(|(_, fields)| fields)
}

/// `comparison.Removed`, for maps.
fn remove_missing(result: &mut Value, predicted: &Value, live: &Value) {
    if let (Some(result), Some(predicted), Some(live)) =
        (result.as_object_mut(), predicted.as_object(), live.as_object())
    {
        result.retain(|key, _| predicted.contains_key(key) || !live.contains_key(key));
        for (key, value) in result {
            if let (Some(predicted), Some(live)) = (predicted.get(key), live.get(key)) {
                remove_missing(value, predicted, live);
            }
        }
    }
}

/// `normalizeTargetResources` of argo-cd's `controller/sync.go`, for `RespectIgnoreDifferences=true`: the applied
/// object gets the ignored field of the live object.
pub(super) fn respecting_ignored_differences(config: &Value, live: &Value) -> Value {
    let mut config = config.clone();
    if let (Some(ours), Some(theirs)) = (config.pointer_mut(TEMPLATES), live.pointer(TEMPLATES)) {
        *ours = theirs.clone();
    }
    config
}

//! Checks StatefulSets for invalid annotations and for outdated PVCs that no rollout will update.

use serde_json::{Value, json};

use super::facts::InstallationFacts;
use super::finding::{self, Finding};
use crate::cli::drift::find::{CLASS, DriftSet, SIZE, rows};
use crate::cli::lists::SkippedObject;
use crate::cli::row::FieldDifference;
use crate::cli::status::rollout::Rollout;
use crate::gate::target::update_policy;
use crate::templates::show::shown;
use crate::templates::user_keys::{USER_KEYS, UserKey};
use crate::templates::{UpdatePolicy, keys};

/// Faults of sets, then of rollouts.
pub(super) fn judge(facts: &InstallationFacts) -> Vec<Finding> {
    let sets = facts.sets.iter().filter(|seen| !seen.set.terminating);
    let mut found: Vec<Finding> = sets.flat_map(of_set).collect();
    found.extend(facts.rollouts.iter().filter_map(of_rollout));
    found
}

/// An object that cannot be read.
pub(super) fn skipped(unread: &SkippedObject) -> Finding {
    let SkippedObject {
        kind,
        namespace,
        name,
        why,
    } = unread;
    let kind = if kind == "StatefulSet" {
        "statefulset.apps".to_owned()
    } else {
        kind.to_lowercase()
    };
    Finding::warning(format!("{kind}/{namespace}/{name}"))
        .but("an object that can be read", why)
        .fix(format!(
            "kubectl get -n {namespace} {kind}/{name} -o json shows it: change what is there"
        ))
}

/// Annotations that exist before anything checks who writes them.
pub(super) fn judge_before(sets: &[DriftSet]) -> Vec<Finding> {
    let found = sets.iter().filter_map(|seen| {
        let keys: Vec<&str> = seen.annotations.iter().map(|(key, _)| &**key).collect();
        let removed: Vec<String> = keys.iter().map(|key| format!("{key}-")).collect();
        let fix = format!(
            "kubectl annotate -n {} statefulset.apps/{} {}, unless somebody wants them",
            seen.set.namespace,
            seen.set.name,
            removed.join(" ")
        );
        let finding = Finding::warning(subject(seen)).but("no annotation of claim-rollout.io yet", keys.join(", "));
        (!keys.is_empty()).then(|| finding.fix(fix))
    });
    found.collect()
}

fn of_set(seen: &DriftSet) -> Vec<Finding> {
    let mut found = unknown_values(seen);
    found.extend(of_staged(seen));
    found.extend(of_claims(seen));
    found
}

fn subject(seen: &DriftSet) -> String {
    finding::set(&seen.set.namespace, &seen.set.name)
}

/// The command that removes an annotation.
fn without(seen: &DriftSet, key: &str) -> String {
    format!(
        "kubectl annotate -n {} statefulset.apps/{} {key}-",
        seen.set.namespace, seen.set.name
    )
}

/// Values that the policy would have denied.
fn unknown_values(seen: &DriftSet) -> Vec<Finding> {
    let found = USER_KEYS.into_iter().filter_map(|UserKey { key, values }| {
        let value = seen.annotations.get(key).filter(|value| !values.allow(value))?;
        let fix = format!("{}, or set one of these values", without(seen, key));
        let expected = format!("{} in the annotation {key}", values.in_words());
        Some(Finding::error(subject(seen)).but(expected, shown(value)).fix(fix))
    });
    found.collect()
}

fn of_staged(seen: &DriftSet) -> Option<Finding> {
    let error = seen.set.unreadable.as_ref()?;
    let fix = format!("{}, and apply the manifest again", without(seen, keys::STAGED));
    let expected = format!("a staged change in the annotation {}", keys::STAGED);
    let found = format!("an invalid value: {error}");
    Some(Finding::error(subject(seen)).but(expected, found).fix(fix))
}

/// Outdated claims of sets with the update policy InPlace that no rollout will update.
fn of_claims(seen: &DriftSet) -> Vec<Finding> {
    if update_policy(&seen.set) != UpdatePolicy::InPlace {
        return Vec::new();
    }
    let found = rows(seen).into_iter().filter_map(|row| {
        let left: Vec<&FieldDifference> = row.differences.iter().filter(|found| found.is_left).collect();
        (!left.is_empty()).then(|| of_claim_that_lags(&seen.set.namespace, &row.name, &left))
    });
    found.collect()
}

fn of_claim_that_lags(namespace: &str, name: &str, left: &[&FieldDifference]) -> Finding {
    let or_none = |text: &Option<String>| text.as_deref().map_or_else(|| "none".to_owned(), shown);
    let words = |value: fn(&FieldDifference) -> &Option<String>| {
        let words = left
            .iter()
            .map(|found| format!("{} {}", found.field, or_none(value(found))));
        words.collect::<Vec<_>>().join(", ")
    };
    let patch = patch(left).to_string().replace('\'', "'\\''");
    Finding::warning(format!("persistentvolumeclaim/{namespace}/{name}"))
        .but(
            format!("{} as in its template", words(|found| &found.wanted)),
            format!("{}, and no rollout that will update it", words(|found| &found.found)),
        )
        .fix(format!(
            "kubectl patch -n {namespace} persistentvolumeclaim/{name} --type=merge -p '{patch}'"
        ))
}

/// The merge patch that updates a claim.
fn patch(left: &[&FieldDifference]) -> Value {
    let mut patch = json!({});
    for found in left {
        let wanted = json!(found.wanted);
        match &*found.field {
            SIZE => patch["spec"]["resources"]["requests"]["storage"] = wanted,
            CLASS => patch["spec"]["volumeAttributesClassName"] = wanted,
            // A label or an annotation: metadata.labels[KEY]
            other => {
                let key = other.strip_prefix("metadata.").and_then(|rest| rest.strip_suffix(']'));
                if let Some((map, key)) = key.and_then(|rest| rest.split_once('[')) {
                    patch["metadata"][map][key] = wanted;
                }
            }
        }
    }
    patch
}

fn of_rollout(rollout: &Rollout) -> Option<Finding> {
    let stalled = rollout.condition("Stalled")?;
    let (namespace, name) = (rollout.namespace(), rollout.metadata.name.as_deref()?);
    let finding = Finding::error(format!("claimrollout.claim-rollout.io/{namespace}/{name}"))
        .but(
            "a rollout that makes progress",
            format!("that it is stalled ({}): {}", stalled.reason, stalled.message),
        )
        .fix(format!(
            "{} status -n {namespace} {name} shows what each PVC waits for",
            crate::cli::process::program()
        ));
    Some(finding)
}

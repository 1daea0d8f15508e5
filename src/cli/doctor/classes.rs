//! Checks that the StorageClasses in use allow expansion.

use std::collections::{BTreeMap, BTreeSet};

use super::facts::InstallationFacts;
use super::finding::{Finding, Severity};
use crate::cli::drift::find::DriftSet;
use crate::gate::target::update_policy;
use crate::templates::{Change, Diff, Phase, UpdatePolicy};

/// StorageClasses without expansion that sets with the update policy InPlace use: an error if a growth is staged, else
/// a warning.
pub(super) fn judge(facts: &InstallationFacts) -> Vec<Finding> {
    let mut users: BTreeMap<&str, (Severity, Vec<String>)> = BTreeMap::new();
    let in_place = facts
        .sets
        .iter()
        .filter(|seen| update_policy(&seen.set) == UpdatePolicy::InPlace);
    for seen in in_place {
        let severity = if grows(seen) {
            Severity::Error
        } else {
            Severity::Warning
        };
        let fixed = classes(seen)
            .into_iter()
            .filter(|class| facts.classes.get(*class) == Some(&false));
        for class in fixed {
            let entry = users.entry(class).or_insert((severity, Vec::new()));
            entry.0 = entry.0.min(severity);
            entry.1.push(format!("{}/{}", seen.set.namespace, seen.set.name));
        }
    }
    let finding = |(class, (severity, sets)): (&str, (Severity, Vec<String>))| {
        let subject = format!("storageclass/{class}");
        let used = format!("false, and PVCs of {} use it", sets.join(", "));
        let fix =
            format!("kubectl patch {subject} -p '{{\"allowVolumeExpansion\":true}}', if its driver can expand volumes");
        Finding {
            severity,
            ..Finding::error(subject).but("allowVolumeExpansion: true", used).fix(fix)
        }
    };
    users.into_iter().map(finding).collect()
}

/// True iff a growth is staged and not complete.
fn grows(seen: &DriftSet) -> bool {
    let Some(change) = seen
        .set
        .staged
        .as_ref()
        .filter(|change| change.phase == Phase::RollingOut)
    else {
        return false;
    };
    let diff = Diff::between(&seen.set.live, &change.templates);
    let mut changes = diff.changed.iter().flat_map(|change| &change.changes);
    changes.any(|change| matches!(change, Change::Storage { from, to } if to > from))
}

/// The classes of the claims and of the templates.
fn classes(seen: &DriftSet) -> BTreeSet<&str> {
    let of_claims = seen.claims.values().filter_map(|claim| claim.view.storage_class_name());
    let templates = seen.set.wanted().iter();
    templates
        .filter_map(|template| template.storage_class_name())
        .chain(of_claims)
        .collect()
}

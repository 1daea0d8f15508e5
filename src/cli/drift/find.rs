//! Finds the differences of a StatefulSet and its PVCs from the desired templates.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::outlook::Outlook;
use crate::api::Settings;
use crate::claims;
use crate::claims::compatible::{differences, in_place};
use crate::claims::retention::PodUid;
use crate::claims::{Belongs, Foreign, foreign};
use crate::cli::row::{ClaimRow, FieldDifference, RowTarget};
use crate::gate::idle::MOST_CLAIMS;
use crate::gate::readiness::has_class;
use crate::gate::target::frozen;
use crate::gate::{SetView, Target};
use crate::json::Map;
use crate::rollout::snapshot::Trouble;
use crate::templates::rules::Frozen;
use crate::templates::show::path_of;
use crate::templates::{Change, ClaimName, ClaimTemplate, Diff, Quantity, keys};

/// The field with the size of a claim.
pub(crate) const SIZE: &str = "spec.resources.requests.storage";
/// The field with the attributes class of a claim.
pub(crate) const CLASS: &str = "spec.volumeAttributesClassName";
const LABELS: &str = "labels";
const ANNOTATIONS: &str = "annotations";

/// A set and its claims.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DriftSet {
    pub(crate) set: SetView,
    /// The settings of the cluster.
    pub(crate) settings: Arc<Settings>,
    /// The annotations in the domain claim-rollout.io.
    pub(crate) annotations: Map<String>,
    /// `spec.volumeClaimUpdatePolicy` is there: this Kubernetes has the field (KEP-4650).
    pub(crate) has_native_policy: bool,
    /// The claims with the names that replicas of the set have.
    pub(crate) claims: BTreeMap<String, DriftClaim>,
    /// The names of those that cannot be read, and are not compared.
    pub(crate) unread: BTreeSet<String>,
}

/// A claim, and its annotations, which the decisions do not read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DriftClaim {
    pub(crate) view: claims::Claim,
    pub(crate) annotations: Map<String>,
}

/// The names of the claims of all replicas, highest ordinal first, each with its template. Invalid names are left out:
/// such a template is never staged. Empty for a set that has too many claims.
pub(crate) fn named<'a>(
    set: &'a SetView,
    target: &'a [ClaimTemplate],
) -> impl Iterator<Item = (u32, &'a ClaimTemplate, ClaimName)> {
    let ordinals = set.too_many_claims(target).is_none().then(|| set.ordinals());
    ordinals.into_iter().flatten().flat_map(move |ordinal| {
        target.iter().filter_map(move |template| {
            let name = ClaimName::new(&template.name, &set.name, ordinal).ok()?;
            Some((ordinal, template, name))
        })
    })
}

/// The differences of the set itself: its staged change, and templates that are staged. None if it is being deleted.
pub(crate) fn of_set(seen: &DriftSet) -> Vec<FieldDifference> {
    if seen.set.terminating {
        return Vec::new();
    }
    let mut found: Vec<FieldDifference> = of_unreadable(seen).into_iter().collect();
    found.extend(of_staged(&seen.set));
    if let Some(claims) = seen.set.too_many_claims(seen.set.wanted()) {
        found.push(FieldDifference {
            wanted: Some(format!("{claims} PVCs")),
            note: format!("not compared: more than {MOST_CLAIMS}"),
            ..of_field("spec.replicas")
        });
    }
    found
}

/// The claims of a set, highest ordinal first, with their differences from the desired templates. None if the set is being
/// deleted.
///
/// A claim that belongs to somebody else, or is being deleted, has one difference: its fields are not compared.
pub(crate) fn rows(seen: &DriftSet) -> Vec<ClaimRow> {
    if seen.set.terminating {
        return Vec::new();
    }
    let target = Target::of(&seen.set, &seen.settings);
    let compared = named(&seen.set, seen.set.wanted()).filter(|(.., name)| !seen.unread.contains(name.as_str()));
    let rows = compared.map(|(ordinal, template, name)| {
        let claim = seen.claims.get(name.as_str());
        let foreign = claim.and_then(|claim| foreign_to(&seen.set, ordinal, &claim.view));
        let row_target = RowTarget {
            label: target.as_ref().ok().map(|target| &target.label),
            updates: target.is_ok(),
        };
        let frozen = frozen(&seen.set, &seen.settings);
        let asked = claim.map_or(Cow::Borrowed(template), |claim| in_place(template, &claim.view, frozen));
        let view = claim.map(|claim| &claim.view);
        let row = ClaimRow::of((name, ordinal), &asked, view, (row_target, foreign.as_ref()));
        let differences = match (claim, foreign) {
            (None, _) => vec![FieldDifference {
                wanted: Some(row.name.clone()),
                note: "created with the Pod".to_owned(),
                ..of_field("metadata.name")
            }],
            (Some(claim), _) if claim.view.terminating => vec![FieldDifference {
                found: Some("set".to_owned()),
                note: "is being deleted".to_owned(),
                ..of_field("metadata.deletionTimestamp")
            }],
            (Some(claim), Some(foreign)) => vec![of_owner(&seen.set, foreign, &claim.view)],
            (Some(claim), None) => of_claim(
                seen,
                &Outlook::of(target.as_ref(), &asked, &claim.view),
                template,
                claim,
            ),
        };
        ClaimRow { differences, ..row }
    });
    rows.collect()
}

fn of_field(field: &str) -> FieldDifference {
    FieldDifference {
        field: field.to_owned(),
        wanted: None,
        found: None,
        note: String::new(),
        is_left: false,
    }
}

fn of_unreadable(seen: &DriftSet) -> Option<FieldDifference> {
    let error = seen.set.unreadable.as_ref()?;
    Some(FieldDifference {
        wanted: Some("a staged change".to_owned()),
        found: Some("an invalid value".to_owned()),
        note: error.to_string(),
        ..of_field(&format!("metadata.annotations[{}]", keys::STAGED))
    })
}

/// The differences between the staged and the live templates.
fn of_staged(set: &SetView) -> Vec<FieldDifference> {
    let Some(change) = &set.staged else {
        return Vec::new();
    };
    let row = |field: String, found: Option<String>, wanted: Option<String>| FieldDifference {
        wanted,
        found,
        note: format!("staged, {}", change.phase),
        ..of_field(&field)
    };
    let diff = Diff::between(&set.live, &change.templates);
    let mut rows = Vec::new();
    for change in &diff.changed {
        let path = |field: &str| format!("{}.{field}", path_of(&change.template));
        rows.extend(change.changes.iter().map(|one| {
            let (from, to) = values(one);
            row(path(&one.field()), from, to)
        }));
        let frozen = change.frozen.iter();
        rows.extend(frozen.map(|one| row(path(&one.field), one.from.clone(), one.to.clone())));
    }
    let added = diff.added.iter();
    rows.extend(added.map(|name| row(path_of(name), None, Some(name.clone()))));
    let removed = diff.removed.iter();
    rows.extend(removed.map(|name| row(path_of(name), Some(name.clone()), None)));
    rows
}

/// The old and the new value of a change.
fn values(change: &Change) -> (Option<String>, Option<String>) {
    let text = |quantity: &Option<Quantity>| quantity.as_ref().map(Quantity::to_string);
    match change {
        Change::Storage { from, to } => (text(from), text(to)),
        Change::VolumeAttributesClass { from, to } => (from.clone(), to.clone()),
        Change::Label(one) | Change::Annotation(one) => (one.from.clone(), one.to.clone()),
    }
}

fn of_claim(seen: &DriftSet, outlook: &Outlook, template: &ClaimTemplate, claim: &DriftClaim) -> Vec<FieldDifference> {
    let view = &claim.view;
    let frozen = match seen.settings.immutable_fields {
        Frozen::Deny => "cannot change in place",
        Frozen::ForNewClaims => "kept: that of the template is for new PVCs",
    };
    let mut found: Vec<FieldDifference> = differences(template, &view.spec)
        .map(|change| FieldDifference {
            wanted: change.from,
            found: change.to,
            note: frozen.to_owned(),
            ..of_field(&change.field)
        })
        .collect();
    found.extend(of_size(template, view, outlook));
    found.extend(of_class(template, view, outlook));
    found.extend(of_keys(seen, template, claim, outlook));
    found
}

/// Why a claim does not belong to the set. Does not check who mounts the claim, nor whether another set has claims of this
/// name.
fn foreign_to(set: &SetView, ordinal: u32, claim: &claims::Claim) -> Option<Foreign> {
    let belongs = Belongs {
        set_uid: &set.uid,
        pod: &set.pod_name(ordinal),
        pod_uid: PodUid::NotAsked,
        match_labels: &set.selector(),
    };
    foreign(claim, &belongs)
}

/// The owner of a claim that does not belong to the set.
fn of_owner(set: &SetView, foreign: Foreign, claim: &claims::Claim) -> FieldDifference {
    let note = foreign.to_string();
    let (wanted, found, field) = match foreign {
        Foreign::Selector { label, value } => {
            let found = claim.labels.get(&label).cloned();
            (value, found, format!("metadata.labels[{label}]"))
        }
        _ => {
            let found = claim.controller().map(|owner| format!("{} {}", owner.kind, owner.name));
            let wanted = format!("StatefulSet {}", set.name);
            (wanted, found, "metadata.ownerReferences".to_owned())
        }
    };
    FieldDifference {
        wanted: Some(wanted),
        found,
        note,
        ..of_field(&field)
    }
}

/// A field that a rollout can update.
fn outdated(field: &str, wanted: Option<String>, found: Option<String>, outlook: &Outlook) -> FieldDifference {
    FieldDifference {
        wanted,
        found,
        note: outlook.note(),
        is_left: *outlook == Outlook::Nobody,
        ..of_field(field)
    }
}

/// The differences between the desired size, the request and the capacity of a claim.
fn of_size(template: &ClaimTemplate, claim: &claims::Claim, outlook: &Outlook) -> Vec<FieldDifference> {
    let text = |size: Quantity| Some(size.to_string());
    let mut rows = Vec::new();
    if let Some(wanted) = template.storage.filter(|wanted| *wanted != claim.request) {
        let (asked, found) = (text(wanted), text(claim.request));
        rows.push(if wanted > claim.request {
            outdated(SIZE, asked, found, outlook)
        } else {
            let grown = if claim.size_is_ours {
                "grown for a previous staged change"
            } else {
                "grown by somebody else"
            };
            FieldDifference {
                wanted: asked,
                found,
                note: grown.to_owned(),
                ..of_field(SIZE)
            }
        });
    }
    if claim.capacity.is_none_or(|capacity| capacity < claim.request) {
        let trouble = claim.trouble(&Trouble::EXPANSION);
        let note = match trouble {
            _ if !claim.bound => "not bound to a volume yet",
            Some(trouble) => &trouble.message,
            None => "",
        };
        rows.push(FieldDifference {
            wanted: text(claim.request),
            found: claim.capacity.and_then(text),
            note: note.to_owned(),
            ..of_field("status.capacity.storage")
        });
    }
    rows
}

/// The difference of the attributes class. A template without one leaves the class of the claim.
fn of_class(template: &ClaimTemplate, claim: &claims::Claim, outlook: &Outlook) -> Option<FieldDifference> {
    let wanted = &template.volume_attributes_class_name;
    if wanted.is_some() && *wanted != claim.class {
        return Some(outdated(CLASS, wanted.clone(), claim.class.clone(), outlook));
    }
    let trouble = claim.trouble(&Trouble::MODIFICATION);
    (claim.bound && !has_class(claim)).then(|| FieldDifference {
        wanted: claim.class.clone(),
        found: claim.current_class.clone(),
        note: trouble.map(|trouble| trouble.message.clone()).unwrap_or_default(),
        ..of_field("status.currentVolumeAttributesClassName")
    })
}

/// The differences of labels and annotations. Keys of the selector have the values of the selector, not those of the
/// template, as when the StatefulSet controller creates the claim. Keys that only the claim has do not count.
fn of_keys(seen: &DriftSet, template: &ClaimTemplate, claim: &DriftClaim, outlook: &Outlook) -> Vec<FieldDifference> {
    let rows = |map: &str, wanted: &Map<String>, found: &Map<String>| {
        let differing = wanted.iter().filter(|(key, value)| found.get(key) != Some(*value));
        let differing = differing.filter(|(key, _)| map != LABELS || !seen.set.match_labels.contains_key(key));
        let rows = differing.map(|(key, value)| {
            let field = format!("metadata.{map}[{key}]");
            outdated(&field, Some(value.clone()), found.get(key).cloned(), outlook)
        });
        rows.collect::<Vec<_>>()
    };
    let mut all = rows(LABELS, &template.labels, &claim.view.labels);
    all.extend(rows(ANNOTATIONS, &template.annotations, &claim.annotations));
    all
}

#[cfg(test)]
#[path = "find_tests.rs"]
pub(crate) mod tests;

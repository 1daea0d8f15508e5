//! Finds the differences of a StatefulSet and its PVCs from the desired templates.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::difference::{Drift, DriftKind};
use super::outlook::Outlook;
use crate::api::Settings;
use crate::claims::compatible::differences;
use crate::claims::retention::PodUid;
use crate::claims::{self, Belongs, Foreign, foreign};
use crate::json::Map;
use crate::rollout::SetView;
use crate::rollout::idle::MOST_CLAIMS;
use crate::rollout::readiness::has_class;
use crate::rollout::snapshot::Trouble;
use crate::templates::rules::Frozen;
use crate::templates::show::path_of;
use crate::templates::{Change, ClaimName, ClaimTemplate, Diff, Quantity, StagedChange, StagedError, keys};

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

impl DriftSet {
    /// The desired templates: the staged ones, or else the live ones.
    pub(crate) fn desired(&self) -> &[ClaimTemplate] {
        let staged = self.set.staged.as_ref();
        staged.map_or(&self.set.live, |change| &change.templates)
    }

    /// The error in the annotation with the staged change.
    pub(crate) fn unreadable(&self) -> Option<StagedError> {
        let text = self.annotations.get(keys::STAGED)?;
        StagedChange::read(text, &self.set.uid).err()
    }
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

/// All differences of a set from its desired templates: the set itself first, then its claims, highest ordinal first.
///
/// A claim that belongs to somebody else, or is being deleted, is one difference: its fields are not compared. A set
/// that is being deleted has no differences.
pub(crate) fn find(seen: &DriftSet) -> Vec<Drift> {
    if seen.set.terminating {
        return Vec::new();
    }
    let mut found: Vec<Drift> = of_unreadable(seen).into_iter().collect();
    found.extend(of_staged(&seen.set));
    if let Some(claims) = seen.set.too_many_claims(seen.desired()) {
        found.push(Drift {
            claim: None,
            kind: DriftKind::Missing,
            field: "spec.replicas".to_owned(),
            wanted: Some(format!("{claims} PVCs")),
            found: None,
            note: format!("not compared: more than {MOST_CLAIMS}"),
        });
    }
    for (ordinal, template, name) in named(&seen.set, seen.desired()) {
        match seen.claims.get(name.as_str()) {
            None if seen.unread.contains(name.as_str()) => {}
            None => found.push(Drift {
                wanted: Some(name.as_str().to_owned()),
                note: "created with the Pod".to_owned(),
                ..blank(name.as_str(), DriftKind::Missing, "metadata.name")
            }),
            Some(claim) => found.extend(of_claim(seen, ordinal, template, claim)),
        }
    }
    found
}

fn blank(claim: &str, kind: DriftKind, field: &str) -> Drift {
    Drift {
        claim: Some(claim.to_owned()),
        kind,
        field: field.to_owned(),
        wanted: None,
        found: None,
        note: String::new(),
    }
}

fn of_unreadable(seen: &DriftSet) -> Option<Drift> {
    let error = seen.unreadable()?;
    Some(Drift {
        claim: None,
        kind: DriftKind::StagedChange,
        field: format!("metadata.annotations[{}]", keys::STAGED),
        wanted: Some("a staged change".to_owned()),
        found: Some("an invalid value".to_owned()),
        note: error.to_string(),
    })
}

/// The differences between the staged and the live templates.
fn of_staged(set: &SetView) -> Vec<Drift> {
    let Some(change) = &set.staged else {
        return Vec::new();
    };
    let row = |field: String, found: Option<String>, wanted: Option<String>| Drift {
        claim: None,
        kind: DriftKind::Staged,
        field,
        wanted,
        found,
        note: format!("staged, {}", change.phase),
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

fn of_claim(seen: &DriftSet, ordinal: u32, template: &ClaimTemplate, claim: &DriftClaim) -> Vec<Drift> {
    let view = &claim.view;
    if view.terminating {
        return vec![Drift {
            found: Some("set".to_owned()),
            note: "is being deleted".to_owned(),
            ..blank(&view.name, DriftKind::Terminating, "metadata.deletionTimestamp")
        }];
    }
    if let Some(foreign) = of_owner(&seen.set, ordinal, view) {
        return vec![foreign];
    }
    let frozen = match seen.settings.immutable_fields {
        Frozen::Deny => "cannot change in place",
        Frozen::ForNewClaims => "kept: that of the template is for new PVCs",
    };
    let mut found: Vec<Drift> = differences(template, &view.spec)
        .map(|change| Drift {
            wanted: change.from,
            found: change.to,
            note: frozen.to_owned(),
            ..blank(&view.name, DriftKind::Frozen, &change.field)
        })
        .collect();
    let outlook = Outlook::of(&seen.set, &seen.settings, view).note();
    found.extend(of_size(template, view, &outlook));
    found.extend(of_class(template, view, &outlook));
    found.extend(of_keys(seen, template, claim, &outlook));
    found
}

/// The owner of a claim, if not the set. Does not check who mounts the claim, nor whether another set has claims of
/// this name.
fn of_owner(set: &SetView, ordinal: u32, claim: &claims::Claim) -> Option<Drift> {
    let belongs = Belongs {
        set_uid: &set.uid,
        pod: &format!("{}-{ordinal}", set.name),
        pod_uid: PodUid::NotAsked,
        match_labels: &set.selector(),
    };
    let foreign = foreign(claim, &belongs)?;
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
    Some(Drift {
        wanted: Some(wanted),
        found,
        note,
        ..blank(&claim.name, DriftKind::Foreign, &field)
    })
}

/// The differences between the desired size, the request and the capacity of a claim.
fn of_size(template: &ClaimTemplate, claim: &claims::Claim, outlook: &str) -> Vec<Drift> {
    let row = |kind, field, wanted: Quantity, found: Option<Quantity>, note: &str| Drift {
        wanted: Some(wanted.to_string()),
        found: found.map(|found| found.to_string()),
        note: note.to_owned(),
        ..blank(&claim.name, kind, field)
    };
    let mut rows = Vec::new();
    if let Some(wanted) = template.storage.filter(|wanted| *wanted != claim.request) {
        let (kind, note) = match wanted > claim.request {
            true => (DriftKind::Smaller, outlook),
            false if claim.size_is_ours => (DriftKind::Larger, "grown for a previous staged change"),
            false => (DriftKind::Larger, "grown by somebody else"),
        };
        let field = "spec.resources.requests.storage";
        rows.push(row(kind, field, wanted, Some(claim.request), note));
    }
    if claim.capacity.is_none_or(|capacity| capacity < claim.request) {
        let trouble = claim
            .trouble(&Trouble::EXPANSION)
            .map(|trouble| trouble.message.as_str());
        let note = if claim.bound {
            trouble.unwrap_or_default()
        } else {
            "not bound to a volume yet"
        };
        rows.push(row(
            DriftKind::Capacity,
            "status.capacity.storage",
            claim.request,
            claim.capacity,
            note,
        ));
    }
    rows
}

/// The difference of the attributes class. A template without one leaves the class of the claim.
fn of_class(template: &ClaimTemplate, claim: &claims::Claim, outlook: &str) -> Option<Drift> {
    let wanted = &template.volume_attributes_class_name;
    if wanted.is_some() && *wanted != claim.class {
        return Some(Drift {
            wanted: wanted.clone(),
            found: claim.class.clone(),
            note: outlook.to_owned(),
            ..blank(
                &claim.name,
                DriftKind::AttributesClass,
                "spec.volumeAttributesClassName",
            )
        });
    }
    let trouble = claim
        .trouble(&Trouble::MODIFICATION)
        .map(|trouble| trouble.message.clone());
    (claim.bound && !has_class(claim)).then(|| Drift {
        wanted: claim.class.clone(),
        found: claim.current_class.clone(),
        note: trouble.unwrap_or_default(),
        ..blank(
            &claim.name,
            DriftKind::Capacity,
            "status.currentVolumeAttributesClassName",
        )
    })
}

/// The differences of labels and annotations. Keys of the selector have the values of the selector, not those of the
/// template, as when the StatefulSet controller creates the claim. Keys that only the claim has do not count.
fn of_keys(seen: &DriftSet, template: &ClaimTemplate, claim: &DriftClaim, outlook: &str) -> Vec<Drift> {
    let rows = |kind, map: &str, wanted: &Map<String>, found: &Map<String>| {
        let differing = wanted.iter().filter(|(key, value)| found.get(key) != Some(*value));
        let differing =
            differing.filter(|(key, _)| kind != DriftKind::Label || !seen.set.match_labels.contains_key(key));
        let rows = differing.map(|(key, value)| Drift {
            wanted: Some(value.clone()),
            found: found.get(key).cloned(),
            note: outlook.to_owned(),
            ..blank(&claim.view.name, kind, &format!("metadata.{map}[{key}]"))
        });
        rows.collect::<Vec<_>>()
    };
    let mut all = rows(DriftKind::Label, "labels", &template.labels, &claim.view.labels);
    all.extend(rows(
        DriftKind::Annotation,
        "annotations",
        &template.annotations,
        &claim.annotations,
    ));
    all
}

#[cfg(test)]
#[path = "find_tests.rs"]
pub(crate) mod tests;

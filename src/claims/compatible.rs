//! Would a claim follow its template? One answer for the policy, the controller and `plan`.

use std::fmt;

use super::claim::Claim;
use super::class::{AttributesClass, Expansion, Known, StorageClass};
use super::ownership::{Belongs, Foreign, foreign};
use crate::json::{Map, Value};
use crate::templates::{ClaimTemplate, FrozenChange, Quantity};

/// The classes that matter to a claim.
#[derive(Clone, Copy, Debug)]
pub struct Classes<'a> {
    /// The storage class that the claim names: a template without one got the default of its day.
    pub storage: &'a Known<StorageClass>,
    /// The attributes class that the template names.
    pub attributes: &'a Known<AttributesClass>,
}

/// Why a claim would not follow.
#[derive(Clone, Debug, PartialEq)]
pub enum Obstacle {
    /// It is being deleted.
    Terminating,
    /// It is not the set's.
    Foreign(Foreign),
    /// A field that the template sets has another value in the claim.
    Differs {
        /// The field.
        field: String,
    },
    /// Size and attributes class of a claim without a volume cannot change.
    NotBound,
    /// A claim without a storage class cannot grow.
    NoStorageClass,
    /// The storage class is not there any more.
    StorageClassMissing {
        /// Its name.
        class: String,
    },
    /// The storage class does not allow it.
    NotExpandable {
        /// Its name.
        class: String,
    },
    /// The attributes class is not there.
    AttributesClassMissing {
        /// Its name.
        class: String,
    },
    /// The attributes class is for another driver.
    AttributesClassOfAnother {
        /// Its name.
        class: String,
        /// Its driver.
        driver: String,
    },
    /// The growth that is to be taken back has been reached.
    Reached {
        /// The capacity.
        capacity: Quantity,
    },
}

/// Everything that keeps a claim from following its template in place; none iff the apply would be accepted, as far as
/// it is known.
///
/// What it does not do: look at quotas, at the PersistentVolume or at what the driver can do.
#[must_use]
pub fn compatible(
    template: &ClaimTemplate,
    claim: &Claim,
    belongs: &Belongs<'_>,
    classes: &Classes<'_>,
) -> Vec<Obstacle> {
    if claim.terminating {
        return vec![Obstacle::Terminating];
    }
    let mut obstacles = Vec::new();
    obstacles.extend(foreign(claim, belongs).map(Obstacle::Foreign));
    let differing = differences(template, &claim.spec);
    obstacles.extend(differing.map(|change| Obstacle::Differs { field: change.field }));
    let grows = template.storage > Some(claim.request);
    let changes_class = changes_class(template, claim);
    if !claim.bound && (grows || changes_class) {
        obstacles.push(Obstacle::NotBound);
        return obstacles;
    }
    if grows {
        obstacles.extend(cannot_grow(claim, classes.storage));
    }
    if changes_class {
        obstacles.extend(cannot_modify(template, classes));
    }
    obstacles
}

/// True iff the claim would get another attributes class. A template without one leaves the claim's.
#[must_use]
pub fn changes_class(template: &ClaimTemplate, claim: &Claim) -> bool {
    let wanted = &template.volume_attributes_class_name;
    wanted.is_some() && *wanted != claim.class
}

/// Why a claim cannot be brought back to a smaller size (KEP-1790): only what was never reached can be taken back.
#[must_use]
pub fn recoverable(template: &ClaimTemplate, claim: &Claim) -> Option<Obstacle> {
    let capacity = claim.capacity?;
    let lowered = template.storage < Some(claim.request) && template.storage <= Some(capacity);
    lowered.then_some(Obstacle::Reached { capacity })
}

/// The fields that the template sets and the claim has otherwise, of those that cannot change in place; `spec` is that of the
/// claim, as [`ClaimTemplate::spec`]. What only the claim has was filled in for it, but for the volume mode, which is always
/// set.
///
/// KEP-4650 applies the template as a whole, so that the API server refuses a claim that differs: it is not written at all.
pub fn differences(template: &ClaimTemplate, spec: &Map<Value>) -> impl Iterator<Item = FrozenChange> + use<> {
    let set = |change: &FrozenChange| change.from.is_some() || change.field == "spec.volumeMode";
    FrozenChange::in_spec(&template.spec, spec).into_iter().filter(set)
}

fn cannot_grow(claim: &Claim, class: &Known<StorageClass>) -> Option<Obstacle> {
    let Some(name) = claim.storage_class_name().map(str::to_owned) else {
        return Some(Obstacle::NoStorageClass);
    };
    match class {
        Known::Missing => Some(Obstacle::StorageClassMissing { class: name }),
        Known::Found(class) if class.expansion == Expansion::Refused => Some(Obstacle::NotExpandable { class: name }),
        Known::Found(_) | Known::Unknown => None,
    }
}

fn cannot_modify(template: &ClaimTemplate, classes: &Classes<'_>) -> Option<Obstacle> {
    let class = template.volume_attributes_class_name.clone()?;
    match (classes.attributes, classes.storage) {
        (Known::Missing, _) => Some(Obstacle::AttributesClassMissing { class }),
        (Known::Found(found), Known::Found(storage)) if found.driver != storage.provisioner => {
            let driver = found.driver.clone();
            Some(Obstacle::AttributesClassOfAnother { class, driver })
        }
        _ => None,
    }
}

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Terminating => f.write_str("being deleted"),
            Self::Foreign(foreign) => foreign.fmt(f),
            Self::Differs { field } => write!(f, "{field} differs from the template's"),
            Self::NotBound => f.write_str("not bound to a volume yet, so it has to wait"),
            Self::NoStorageClass => f.write_str("without a storage class a claim cannot grow"),
            Self::StorageClassMissing { class } => write!(f, "storage class {class} does not exist"),
            Self::NotExpandable { class } => {
                write!(f, "storage class {class} does not have allowVolumeExpansion: true")
            }
            Self::AttributesClassMissing { class } => write!(f, "volume attributes class {class} does not exist"),
            Self::AttributesClassOfAnother { class, driver } => {
                write!(f, "volume attributes class {class} is for driver {driver}")
            }
            Self::Reached { capacity } => {
                write!(f, "already has {capacity}, and a volume cannot shrink")
            }
        }
    }
}

#[cfg(test)]
#[path = "compatible_tests.rs"]
mod tests;

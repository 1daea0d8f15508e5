//! Whether a PVC can follow its template: one check for the policy, the controller and `plan`.

use std::borrow::Cow;
use std::fmt;

use super::claim::Claim;
use super::class::{AttributesClass, Expansion, Known, StorageClass};
use super::ownership::{Belongs, Foreign, foreign};
use crate::json::{Map, Value};
use crate::templates::rules::Frozen;
use crate::templates::{ClaimTemplate, FrozenChange, Quantity};

/// The classes of a PVC and its template.
#[derive(Clone, Copy, Debug)]
pub struct Classes<'a> {
    /// The StorageClass of the PVC. A template without a class got the default at creation.
    pub storage: &'a Known<StorageClass>,
    /// The VolumeAttributesClass of the template.
    pub attributes: &'a Known<AttributesClass>,
}

/// Why a PVC cannot follow its template.
#[derive(Clone, Debug, PartialEq)]
pub enum Obstacle {
    /// The PVC is being deleted.
    Terminating,
    /// The PVC does not belong to the StatefulSet.
    Foreign(Foreign),
    /// A field of the template has another value in the PVC.
    Differs {
        /// The field.
        field: String,
    },
    /// A PVC without a volume cannot change its size or VolumeAttributesClass.
    NotBound,
    /// A PVC without a StorageClass cannot grow.
    NoStorageClass,
    /// The StorageClass does not exist.
    StorageClassMissing {
        /// The name of the class.
        class: String,
    },
    /// The StorageClass does not allow expansion.
    NotExpandable {
        /// The name of the class.
        class: String,
    },
    /// The VolumeAttributesClass does not exist.
    AttributesClassMissing {
        /// The name of the class.
        class: String,
    },
    /// The VolumeAttributesClass is for another driver.
    AttributesClassOfAnother {
        /// The name of the class.
        class: String,
        /// The driver of the class.
        driver: String,
    },
    /// The expansion that a change would cancel is complete.
    Reached {
        /// The capacity.
        capacity: Quantity,
    },
}

/// Every known reason why a PVC cannot follow its template in place; empty if an apply would succeed.
///
/// Quotas, the PersistentVolume and the abilities of the driver are not checked.
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

/// True iff the VolumeAttributesClass of the PVC would change. A template without a class leaves it.
#[must_use]
pub fn changes_class(template: &ClaimTemplate, claim: &Claim) -> bool {
    let wanted = &template.volume_attributes_class_name;
    wanted.is_some() && *wanted != claim.class
}

/// Why the size of a PVC cannot be lowered (KEP-1790): only an incomplete expansion can be cancelled.
#[must_use]
pub fn recoverable(template: &ClaimTemplate, claim: &Claim) -> Option<Obstacle> {
    let capacity = claim.capacity?;
    let lowered = template.storage < Some(claim.request) && template.storage <= Some(capacity);
    lowered.then_some(Obstacle::Reached { capacity })
}

/// The fields that the template sets, that have another value in the PVC, and that cannot change in place. `spec` is
/// [`Claim::spec`]. Fields that only the PVC has are defaults, except the volume mode, which is always set.
///
/// KEP-4650 applies the whole template, so the API server would deny the patch of a PVC that differs. We do not send
/// it.
pub fn differences(template: &ClaimTemplate, spec: &Map<Value>) -> impl Iterator<Item = FrozenChange> + use<> {
    let set = |change: &FrozenChange| change.from.is_some() || change.field == "spec.volumeMode";
    FrozenChange::in_spec(&template.spec, spec).into_iter().filter(set)
}

/// What an existing PVC can get of a template: all of it, unless its immutable fields are for new PVCs. Then the PVC
/// keeps its own. A VolumeAttributesClass is for one driver, so a PVC of another StorageClass gets none.
#[must_use]
pub fn in_place<'t>(template: &'t ClaimTemplate, claim: &Claim, frozen: Frozen) -> Cow<'t, ClaimTemplate> {
    if frozen == Frozen::Deny || differences(template, &claim.spec).next().is_none() {
        return Cow::Borrowed(template);
    }
    let class = template.storage_class_name();
    let is_of_class = class.is_none() || class == claim.storage_class_name();
    let attributes = template.volume_attributes_class_name.clone();
    Cow::Owned(ClaimTemplate {
        spec: Map::clone(&claim.spec),
        volume_attributes_class_name: attributes.filter(|_| is_of_class),
        ..template.clone()
    })
}

/// The fields in which [`in_place`] differs from the template: the PVC keeps its own.
#[must_use]
pub fn kept_fields(template: &ClaimTemplate, claim: &Claim, frozen: Frozen) -> Vec<FrozenChange> {
    match frozen {
        Frozen::Deny => Vec::new(),
        Frozen::ForNewClaims => differences(template, &claim.spec).collect(),
    }
}

fn cannot_grow(claim: &Claim, class: &Known<StorageClass>) -> Option<Obstacle> {
    let Some(name) = claim.storage_class_name().map(str::to_owned) else {
        return Some(Obstacle::NoStorageClass);
    };
    match class {
        Known::Missing => Some(Obstacle::StorageClassMissing { class: name }),
        Known::Found(class) if class.expansion == Expansion::Denied => Some(Obstacle::NotExpandable { class: name }),
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
            Self::NoStorageClass => f.write_str("a PVC without a storage class cannot grow"),
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

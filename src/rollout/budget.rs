//! The budgets of storage classes: how often a PVC may be modified, and how many PVCs at a time.

use std::collections::{BTreeMap, BTreeSet};

use crate::api::Seconds;

/// The budgets of storage classes, and how much of them was used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Budgets {
    /// The budget of each storage class that has one.
    pub classes: BTreeMap<String, Budget>,
    /// When we modified each PVC, by its uid.
    pub modified: BTreeMap<String, Vec<Seconds>>,
    /// The uids of PVCs that have been in motion for longer than the progress deadline: they take no place.
    pub late: BTreeSet<String>,
}

/// The budget of one storage class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// How often a PVC may be modified in any 24 hours.
    pub per_day: Option<u32>,
    /// How many PVCs may be in motion at a time.
    pub at_once: Option<AtOnce>,
}

/// How many PVCs of a class may be in motion at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AtOnce {
    /// In the whole cluster.
    pub most: u32,
    /// The number of places that other StatefulSets have, or get first; `None` while it is unknown.
    pub others: Option<u32>,
    /// Namespace and name of a StatefulSet that has a place for a while.
    pub holder: Option<String>,
}

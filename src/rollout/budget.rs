//! What storage classes allow: how often a PVC may be modified, and how many at a time.

use std::collections::BTreeMap;

use super::time::Seconds;

/// What storage classes allow, and what was used of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Budgets {
    /// By storage class; most have none.
    pub classes: BTreeMap<String, Budget>,
    /// When we modified PVCs, by uid.
    pub modified: BTreeMap<String, Vec<Seconds>>,
}

/// What one storage class allows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// How often a PVC may be modified in any 24 hours.
    pub per_day: Option<u32>,
    /// How many PVCs may be in motion at a time.
    pub at_once: Option<AtOnce>,
}

/// How many PVCs of a class may be in motion at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtOnce {
    /// In the whole cluster.
    pub most: u32,
    /// How many of other StatefulSets are; nothing as long as that is not known.
    pub others: Option<u32>,
}

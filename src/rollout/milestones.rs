//! Which states of PVCs and Pods a rollout has reached.

use std::collections::BTreeMap;

use crate::templates::RevisionLabel;

/// The states that were reached in a rollout.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Milestones {
    /// The staging that is rolled out.
    pub label: Option<RevisionLabel>,
    /// One bit for each state, by the name of the PVC or Pod.
    pub states: BTreeMap<String, u16>,
}

//! A wish that may be staged.

use super::review::{Object, Review};
use super::settings::Settings;
use crate::templates::{ClaimTemplate, UpdatePolicy};

/// A wish that may be staged.
pub(super) struct Target<'w> {
    pub(super) review: &'w Review<'w>,
    pub(super) settings: &'w Settings,
    pub(super) old: &'w Object<'w>,
    pub(super) new: &'w Object<'w>,
    /// The update policy in force.
    pub(super) policy: UpdatePolicy,
    /// What was wished before, else what the set has.
    pub(super) current: &'w [ClaimTemplate],
    /// What the set has.
    pub(super) live: &'w [ClaimTemplate],
    /// What is wished now.
    pub(super) asked: Vec<ClaimTemplate>,
}

//! A change of the templates that a request asks for.

use super::settings::Settings;
use crate::templates::{ClaimTemplate, Strategy, UpdatePolicy};
use crate::wire::{Object, Review};

/// A change of the templates that a request asks for, before it is staged.
pub(super) struct RequestedChange<'w> {
    pub(super) review: &'w Review<'w>,
    pub(super) settings: &'w Settings,
    pub(super) old: &'w Object<'w>,
    pub(super) new: &'w Object<'w>,
    /// The update policy in force.
    pub(super) policy: UpdatePolicy,
    /// The staged templates, else the live templates.
    pub(super) current: &'w [ClaimTemplate],
    /// The live templates.
    pub(super) live: &'w [ClaimTemplate],
    /// The templates of the request.
    pub(super) asked: Vec<ClaimTemplate>,
}

/// The existing replicas that a rollout in place reaches.
pub(super) struct Reach<'a> {
    pub(super) set: &'a str,
    pub(super) namespace: &'a str,
    pub(super) replicas: i64,
    pub(super) partition: i64,
    /// The user deletes each Pod: `updateStrategy: OnDelete`.
    pub(super) by_hand: bool,
}

impl RequestedChange<'_> {
    /// The existing replicas that a rollout in place reaches.
    pub(super) fn reach(&self) -> Reach<'_> {
        let strategy = self.new.pod_strategy().unwrap_or_default();
        Reach {
            set: &self.new.metadata.name,
            namespace: self.review.namespace(),
            replicas: self.new.replicas().min(self.old.replicas()),
            partition: strategy.partition,
            by_hand: strategy.kind == Strategy::OnDelete,
        }
    }
}

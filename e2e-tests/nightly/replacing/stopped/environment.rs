//! The cluster of these scenarios.

use std::time::Duration;

use claim_rollout::webhook::Running;
use tokio::sync::Semaphore;

use crate::world::barrier::Barriers;

/// The most time of a step: hundreds of StatefulSets and controllers share a machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

/// A cluster with barriers.
pub(crate) struct Environment {
    pub(crate) shared: crate::world::environment::Environment,
    pub(crate) barriers: Barriers,
    /// Hundreds of StatefulSets wait until they are old enough; so many do something else at a time.
    pub(crate) turns: Semaphore,
    pub(crate) _served: Running,
}

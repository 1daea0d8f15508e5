//! Decision three: whether the StatefulSet controller may delete a Pod now.
//!
//! The policy denies the deletion of a Pod until its claims are updated and ready (KEP-4650, "Updated Reconciliation
//! Logic"). The set is not changed, so removing the policy opens the gate.
//!
//! The rollout stands above: it has the same [`Target`], asks the same [`readiness`], and its order waits for what the
//! gate keeps.
//!
//! | file | contains |
//! |---|---|
//! | `pods` | the decision: [`gate`] |
//! | [`set_view`] | a StatefulSet, as the decisions see it |
//! | [`target`], [`idle`] | its target; why it has none |
//! | [`readiness`] | when a claim is updated and ready; the states of a claim; whether it keeps its Pod |
//!
//! Pure: no I/O, no clock. [`Gate::of`] needs only the Pod and its set, and decides whether claims must be read at all.

pub mod idle;
pub mod readiness;
pub mod set_view;
pub mod target;

mod pods;

pub use idle::Idle;
pub use pods::{Gate, Pod, gate, keeps_pod};
pub use readiness::ClaimState;
pub use set_view::{PodManagement, SetView, StagedAt};
pub use target::Target;

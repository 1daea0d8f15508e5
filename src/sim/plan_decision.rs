//! A decision of `plan` as the model knows it.

use super::coverage::Coverage;
use super::objects::{Age, SLOTS};
use super::write::Write;
use crate::rollout::Reason;
use crate::rollout::invariants::Broken;

/// A decision of `plan`, translated for the model.
#[derive(Clone, Debug)]
pub(crate) struct PlanDecision {
    /// Uids and versions are those of the [`ControllerView`](super::controller_view::ControllerView).
    pub(crate) writes: Vec<Write>,
    /// Events: reason, claim, and the number of the message.
    pub(crate) events: Vec<(Reason, Option<u8>, u32)>,
    /// The number of the report.
    pub(crate) content: u32,
    pub(crate) requeue: Option<Age>,
    pub(crate) settled: bool,
    /// The quota is to be read first.
    pub(crate) asks_quotas: bool,
    /// A new target: the report comes first.
    pub(crate) begins: bool,
    /// The condition `Ready` of the report is true.
    pub(crate) ready: bool,
    /// The reported state of each claim, by slot; 0 if it is not listed: it is ready. None where claims are not judged.
    pub(crate) states: Option<[u8; SLOTS]>,
    /// The reason of the condition `Ready`, as a number.
    pub(crate) reason: u64,
    /// Stuck claims, by slot.
    pub(crate) stuck: u16,
    /// A target is rolled out, so claims and Pods are watched.
    pub(crate) rolls_out: bool,
    /// The coverage of the decision.
    pub(crate) coverage: Coverage,
    /// The checked order of the writes, and the checked report, based on the view.
    pub(crate) judged: Result<(), Broken>,
}

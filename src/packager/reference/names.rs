//! Conditions, reasons, states and Events.

use super::section::{code, section};
use crate::api::ReadyReason;
use crate::api::reasons::Kind;
use crate::gate::ClaimState;
use crate::rollout::Reason as EventReason;

/// The conditions of a ClaimRollout, by the kind of their reason.
pub(super) fn conditions() -> String {
    let rows = [
        (
            "settled",
            "True",
            "False",
            "False",
            "the rollout has reached its target, or there is nothing to do",
        ),
        ("moving", "False", "True", "False", "the rollout continues on its own"),
        (
            "waiting",
            "False",
            "True",
            "False",
            "the rollout waits for its user, or for a point in time",
        ),
        (
            "stalled",
            "False",
            "False",
            "True",
            "the rollout needs help: see [troubleshooting](troubleshooting.md#the-rollout-is-stalled)",
        ),
    ];
    let rows = rows.map(|(kind, ready, reconciling, stalled, meaning)| {
        [kind, ready, reconciling, stalled, meaning].map(str::to_owned).to_vec()
    });
    section(
        "Conditions",
        "A ClaimRollout has three conditions, which kstatus knows. The reason of `Ready` decides which of them is True, and \
         the message of `Ready` explains it.",
        &["reason is", "`Ready`", "`Reconciling`", "`Stalled`", "meaning"],
        rows,
    )
}

const fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Settled => "settled",
        Kind::Moving => "moving",
        Kind::Waiting => "waiting",
        Kind::Stalled => "stalled",
    }
}

/// A comment as the cell of a table.
fn meaning(text: &str) -> String {
    text.trim_end_matches('.').to_owned()
}

/// The reasons of the conditions, which are also the label `state` of `claim_rollout_rollouts`.
pub(super) fn reasons() -> String {
    let rows = ReadyReason::ALL.map(|reason| {
        vec![
            code(reason.as_str()),
            kind(reason.kind()).to_owned(),
            meaning(reason.meaning()),
        ]
    });
    section(
        "Reasons",
        "The column `STATE` of `kubectl get claimrollouts`, and the label `state` of the metric `claim_rollout_rollouts`:",
        &["reason", "is", "meaning"],
        rows,
    )
}

/// The states of PVCs.
pub(super) fn states() -> String {
    let rows = ClaimState::ALL.map(|of| vec![code(of.as_str()), meaning(of.meaning())]);
    section(
        "States of a PVC",
        "In `status.claims[].state` of the ClaimRollout, in `claim-rollout status`, `plan` and `drift`, and in the label \
         `state` of the metric `claim_rollout_claims`:",
        &["state", "meaning"],
        rows,
    )
}

/// The objects of the Event.
const fn on(reason: EventReason) -> &'static str {
    match reason {
        EventReason::ClaimUpdated
        | EventReason::ClaimReady
        | EventReason::FailedToPatchPVC
        | EventReason::ClaimExpansionFailed
        | EventReason::ClaimForeign
        | EventReason::ClaimDeleted
        | EventReason::PodEvicted
        | EventReason::PodReplacedEarly => "StatefulSet, PVC",
        _ => "StatefulSet",
    }
}

/// The Events of the controller.
pub(super) fn events() -> String {
    let rows = EventReason::ALL.map(|reason| {
        let kind = if reason.is_warning() { "Warning" } else { "Normal" };
        vec![
            code(reason.as_str()),
            kind.to_owned(),
            on(reason).to_owned(),
            meaning(reason.meaning()),
        ]
    });
    section(
        "Events",
        "Events are for people, and may be lost. In scripts and alerts, use the ClaimRollout and \
         [metrics](metrics.md); the metric `claim_rollout_events_total` counts Events by reason.",
        &["reason", "type", "on", "meaning"],
        rows,
    )
}

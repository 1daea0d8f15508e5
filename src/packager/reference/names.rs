//! Conditions, reasons, states and Events.

use super::section::{code, section};
use crate::api::ReadyReason;
use crate::api::reasons::Kind;
use crate::gate::ClaimState;
use crate::rollout::Reason as EventReason;
use crate::rollout::conditions::RolloutState;

/// The conditions of a ClaimRollout, by the kind of their reason.
pub(super) fn conditions() -> String {
    let stalled = "the rollout needs help: see [troubleshooting](troubleshooting.md#the-rollout-is-stalled)";
    // One reason of each kind.
    let rows = [
        (
            ReadyReason::Complete,
            "the rollout has reached its target, or there is nothing to do",
        ),
        (ReadyReason::RollingOut, "the rollout continues on its own"),
        (
            ReadyReason::Paused,
            "the rollout waits for its user, or for a point in time",
        ),
        (ReadyReason::ClaimRefused, stalled),
    ];
    let rows = rows.map(|(reason, meaning)| {
        let message = meaning.to_owned();
        let conditions = RolloutState { reason, message }.conditions();
        let status = conditions.map(|condition| if condition.holds { "True" } else { "False" }.to_owned());
        let mut row = vec![kind(reason.kind())];
        row.extend(status);
        row.push(meaning.to_owned());
        row
    });
    section(
        "Conditions",
        "A ClaimRollout has three conditions, which kstatus knows. The reason of `Ready` decides which of them is True, and \
         the message of `Ready` explains it.",
        &["reason is", "`Ready`", "`Reconciling`", "`Stalled`", "meaning"],
        rows,
    )
}

fn kind(kind: Kind) -> String {
    format!("{kind:?}").to_lowercase()
}

/// A comment as the cell of a table.
fn meaning(text: &str) -> String {
    text.trim_end_matches('.').to_owned()
}

/// The reasons of the conditions, which are also the label `state` of `claim_rollout_rollouts`.
pub(super) fn reasons() -> String {
    let rows =
        ReadyReason::ALL.map(|reason| vec![code(reason.as_str()), kind(reason.kind()), meaning(reason.meaning())]);
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

//! Conditions, reasons, states and Events.

use super::section::{code, section};
use crate::api::ReadyReason;
use crate::api::reasons::Kind;
use crate::rollout::{ClaimState, Reason as EventReason};

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

/// The reasons of the conditions, which are also the label `state` of `claim_rollout_rollouts`.
pub(super) fn reasons() -> String {
    let rows = ReadyReason::ALL.map(|reason| {
        vec![
            code(reason.as_str()),
            kind(reason.kind()).to_owned(),
            reason.meaning().trim_end_matches('.').to_owned(),
        ]
    });
    section(
        "Reasons",
        "The column `STATE` of `kubectl get claimrollouts`, and the label `state` of the metric `claim_rollout_rollouts`:",
        &["reason", "is", "meaning"],
        rows,
    )
}

const fn state(state: ClaimState) -> &'static str {
    match state {
        ClaimState::Pending => "outdated; its turn has not come",
        ClaimState::Unbound => "has no volume, so that it can neither be patched nor become ready",
        ClaimState::Applied => "patched; the driver has not started",
        ClaimState::Expanding => "the driver expands the volume",
        ClaimState::NodeExpanding => "the node has to expand the file system",
        ClaimState::Modifying => "the driver changes the attributes class",
        ClaimState::Infeasible => "the driver reports that the change is infeasible",
        ClaimState::Refused => {
            "the API server denies the patch, or stores something else, or somebody has lowered the PVC since"
        }
        ClaimState::Foreign => "does not belong to the StatefulSet; nothing is written",
        ClaimState::Terminating => "is being deleted",
        ClaimState::Missing => "does not exist",
        ClaimState::Done => "updated and ready",
    }
}

/// The states of PVCs.
pub(super) fn states() -> String {
    let rows = ClaimState::ALL.map(|of| vec![code(of.as_str()), state(of).to_owned()]);
    section(
        "States of a PVC",
        "In `status.claims[].state` of the ClaimRollout, in `claim-rollout status`, and in the label `state` of the metric \
         `claim_rollout_claims`:",
        &["state", "the PVC"],
        rows,
    )
}

const fn event(reason: EventReason) -> (&'static str, &'static str) {
    match reason {
        EventReason::ClaimsStaged => ("StatefulSet", "a change was staged; the message lists what happens"),
        EventReason::ClaimUpdated => ("StatefulSet, PVC", "the PVC was patched"),
        EventReason::ClaimReady => (
            "StatefulSet, PVC",
            "the PVC has the size and the class that it asks for",
        ),
        EventReason::FailedToPatchPVC => (
            "StatefulSet, PVC",
            "the API server denied the patch of the PVC, or stored something else",
        ),
        EventReason::ClaimExpansionFailed => ("StatefulSet, PVC", "the driver cannot expand or modify the volume"),
        EventReason::ClaimForeign => (
            "StatefulSet, PVC",
            "the PVC does not belong to the StatefulSet, so it is left alone",
        ),
        EventReason::ClaimDeleted => ("StatefulSet, PVC", "the PVC was deleted, so that it is created anew"),
        EventReason::PodEvicted => (
            "StatefulSet, PVC",
            "the Pod was evicted, so that its volumes are mounted again, its PVC is created anew, or it gets a volume that it lacks",
        ),
        EventReason::PodReplacedEarly => (
            "StatefulSet, PVC",
            "the Pod was replaced before its PVC was updated: the policy was not asked, or somebody deleted or evicted the Pod",
        ),
        EventReason::ClaimRolloutStalled => ("StatefulSet", "the rollout needs help; the message contains the reason"),
        EventReason::ClaimRolloutNotWritten => (
            "StatefulSet",
            "the ClaimRollout cannot be written; the rollout continues",
        ),
        EventReason::ClaimRolloutComplete => ("StatefulSet", "all PVCs are updated and ready"),
        EventReason::ClaimRolloutWithdrawn => ("StatefulSet", "the staged change was withdrawn"),
        EventReason::StatefulSetReplaced => (
            "StatefulSet",
            "the StatefulSet was replaced by one with the desired templates",
        ),
        EventReason::StatefulSetNotReplaced => (
            "StatefulSet",
            "the StatefulSet is not replaced, or its replacement waits",
        ),
        EventReason::RetentionKept => (
            "StatefulSet",
            "somebody set `whenDeleted: Retain` during a replacement, so it stays",
        ),
    }
}

/// The Events of the controller.
pub(super) fn events() -> String {
    let rows = EventReason::ALL.map(|reason| {
        let (on, meaning) = event(reason);
        let kind = if reason.is_warning() { "Warning" } else { "Normal" };
        vec![
            code(reason.as_str()),
            kind.to_owned(),
            on.to_owned(),
            meaning.to_owned(),
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

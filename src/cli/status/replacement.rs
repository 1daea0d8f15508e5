//! The replacement of a StatefulSet, as far as it matters now. Pure.

use super::set::SeenSet;
use crate::api::{ReplacementPhase, ReplacementReason};
use crate::controller::crd::ReplacementStatus;
use crate::templates::ReplaceSet;

/// What a replacement comes to; none for a phase of a newer controller.
pub(super) fn phase(reported: &ReplacementStatus) -> Option<ReplacementPhase> {
    ReplacementPhase::read(&reported.phase)
}

/// True iff the set may be absent, or another one than before.
pub(super) fn is_in_progress(reported: &ReplacementStatus) -> bool {
    phase(reported).is_some_and(ReplacementPhase::has_begun)
}

/// The phase, with the step, the reason and the message.
pub(super) fn text(reported: &ReplacementStatus) -> String {
    let what = match phase(reported) {
        Some(ReplacementPhase::InProgress) => "being replaced",
        Some(ReplacementPhase::Stalled) => "the replacement is stalled",
        Some(ReplacementPhase::Refused) => "not replaced",
        Some(ReplacementPhase::Replaced) => "replaced: the live templates are the desired ones",
        None => &reported.phase,
    };
    let step = reported.step.as_ref().map(|step| format!("step {step}"));
    let details = [step, reported.reason.clone(), reported.message.clone()];
    let details = details.into_iter().flatten().filter(|detail| !detail.is_empty());
    std::iter::once(what.to_owned())
        .chain(details)
        .collect::<Vec<_>>()
        .join(": ")
}

/// The reported replacement, if it is of what is staged now. An earlier one does not matter any more.
pub(super) fn shown(reported: Option<&ReplacementStatus>, set: Option<&SeenSet>) -> Option<ReplacementStatus> {
    let staged = set.is_some_and(SeenSet::is_staged);
    let reported = reported.filter(|reported| match phase(reported) {
        Some(ReplacementPhase::Refused) => staged,
        Some(ReplacementPhase::Replaced) => set.is_some() && !staged,
        Some(ReplacementPhase::InProgress | ReplacementPhase::Stalled) | None => true,
    });
    reported.cloned()
}

/// True iff a replacement is asked for, or has begun, and has not ended. One that was refused has ended, unless its
/// reason goes away within a minute.
pub(super) fn is_awaited(shown: Option<&ReplacementStatus>, set: Option<&SeenSet>) -> bool {
    if set.is_some_and(|set| set.is_marked) {
        return true;
    }
    let Some(shown) = shown else {
        return set.is_some_and(is_asked);
    };
    match phase(shown) {
        Some(ReplacementPhase::InProgress | ReplacementPhase::Stalled) => true,
        Some(ReplacementPhase::Refused) => is_brief(shown),
        Some(ReplacementPhase::Replaced) | None => false,
    }
}

fn is_brief(shown: &ReplacementStatus) -> bool {
    let reason = shown.reason.as_deref().and_then(ReplacementReason::read);
    reason.is_some_and(ReplacementReason::is_brief)
}

/// True iff the annotation asks for a replacement. The setting of the administrator is not known here.
fn is_asked(set: &SeenSet) -> bool {
    set.view.replace_set == Some(ReplaceSet::WhenComplete) && set.is_staged() && !set.view.paused
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{ReplacementStatus, SeenSet, is_awaited, shown, text};

    fn reported(mut value: Value) -> ReplacementStatus {
        value["since"] = json!("2026-11-28T12:00:00Z");
        serde_json::from_value(value).expect("a replacement")
    }

    fn set(annotations: &Value, finalizers: &[&str]) -> SeenSet {
        let metadata = json!({"name": "web", "annotations": annotations, "finalizers": finalizers});
        SeenSet::read(&json!({ "metadata": metadata })).expect("a set")
    }

    #[test]
    fn text_has_phase_step_reason_and_message() {
        for (replacement, expected) in [
            (
                json!({"phase": "InProgress", "step": "Mark"}),
                "being replaced: step Mark",
            ),
            (
                json!({"phase": "Refused", "reason": "PodNotReady", "message": "Pod web-1 is not Ready"}),
                "not replaced: PodNotReady: Pod web-1 is not Ready",
            ),
            (
                json!({"phase": "Stalled", "reason": "StepDenied", "message": "quota"}),
                "the replacement is stalled: StepDenied: quota",
            ),
            (
                json!({"phase": "Replaced"}),
                "replaced: the live templates are the desired ones",
            ),
            (json!({"phase": "Newer", "reason": "New"}), "Newer: New"),
        ] {
            assert_eq!(text(&reported(replacement)), expected);
        }
    }

    /// The set: its annotations, its finalizers. The report: its phase and its reason. Whether it is shown, and awaited.
    #[test]
    fn replacement_is_shown_and_awaited_as_long_as_it_matters() {
        let staged = json!({"claim-rollout.io/staged": "{}"});
        let asked = json!({"claim-rollout.io/staged": "{}", "claim-rollout.io/replace-set": "WhenComplete"});
        let never = json!({"claim-rollout.io/staged": "{}", "claim-rollout.io/replace-set": "Never"});
        let mut paused = asked.clone();
        paused["claim-rollout.io/paused"] = json!("true");
        let done = json!({"claim-rollout.io/replace-set": "WhenComplete"});
        let ours = &["claim-rollout.io/replacing"][..];
        for (what, set, phase, reason, expected) in [
            ("nothing asked", set(&staged, &[]), "", "", (false, false)),
            ("asked", set(&asked, &[]), "", "", (false, true)),
            ("never", set(&never, &[]), "", "", (false, false)),
            ("paused", set(&paused, &[]), "", "", (false, false)),
            ("asked before, done", set(&done, &[]), "", "", (false, false)),
            ("marked, not reported", set(&staged, ours), "", "", (false, true)),
            ("in progress", set(&asked, ours), "InProgress", "", (true, true)),
            ("stalled", set(&done, &[]), "Stalled", "ForeignSet", (true, true)),
            ("refused", set(&asked, &[]), "Refused", "PodNotReady", (true, false)),
            ("refused, young", set(&asked, &[]), "Refused", "TooYoung", (true, true)),
            (
                "refused, then withdrawn",
                set(&done, &[]),
                "Refused",
                "PodNotReady",
                (false, false),
            ),
            (
                "refused, marked",
                set(&asked, ours),
                "Refused",
                "PodNotReady",
                (true, true),
            ),
            ("replaced", set(&done, &[]), "Replaced", "", (true, false)),
            (
                "replaced, and staged again",
                set(&asked, &[]),
                "Replaced",
                "",
                (false, true),
            ),
            (
                "a phase of a newer controller",
                set(&asked, &[]),
                "Newer",
                "",
                (true, false),
            ),
        ] {
            let report = (!phase.is_empty()).then(|| reported(json!({"phase": phase, "reason": reason})));
            let shown = shown(report.as_ref(), Some(&set));
            let found = (shown.is_some(), is_awaited(shown.as_ref(), Some(&set)));
            assert_eq!(found, expected, "{what}");
        }
    }

    #[test]
    fn replacement_of_an_absent_set_is_shown_while_it_runs() {
        for (phase, expected) in [
            ("InProgress", (true, true)),
            ("Refused", (false, false)),
            ("Replaced", (false, false)),
        ] {
            let shown = shown(Some(&reported(json!({ "phase": phase }))), None);
            let found = (shown.is_some(), is_awaited(shown.as_ref(), None));
            assert_eq!(found, expected, "{phase}, and the set is absent");
        }
    }
}

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

    #[test]
    fn text_has_phase_step_reason_and_message() {
        let [ready, quota] = [
            ("Refused", "PodNotReady", "Pod web-1 is not Ready"),
            ("Stalled", "StepDenied", "quota"),
        ]
        .map(|(phase, reason, message)| json!({"phase": phase, "reason": reason, "message": message}));
        for (replacement, expected) in [
            (
                json!({"phase": "InProgress", "step": "Mark"}),
                "being replaced: step Mark",
            ),
            (ready, "not replaced: PodNotReady: Pod web-1 is not Ready"),
            (quota, "the replacement is stalled: StepDenied: quota"),
            (
                json!({"phase": "Replaced"}),
                "replaced: the live templates are the desired ones",
            ),
            (json!({"phase": "Newer", "reason": "New"}), "Newer: New"),
        ] {
            assert_eq!(text(&reported(replacement)), expected);
        }
    }

    /// A state; the annotations of the set, `marked` if it has our finalizer, or `absent`; the phase and the reason of the
    /// report; whether the report is shown, and whether the end of a replacement is awaited.
    const STATES: &str = "
nothing asked                 | staged        |            |             | -
asked                         | asked         |            |             | awaited
never                         | never         |            |             | -
paused                        | paused        |            |             | -
asked before, done            | done          |            |             | -
marked, not reported          | staged marked |            |             | awaited
in progress                   | asked marked  | InProgress |             | shown awaited
stalled                       | done          | Stalled    | ForeignSet  | shown awaited
refused                       | asked         | Refused    | PodNotReady | shown
refused, young                | asked         | Refused    | TooYoung    | shown awaited
refused, then withdrawn       | done          | Refused    | PodNotReady | -
refused, marked               | asked marked  | Refused    | PodNotReady | shown awaited
replaced                      | done          | Replaced   |             | shown
replaced, and staged again    | asked         | Replaced   |             | awaited
a phase of a newer controller | asked         | Newer      |             | shown
in progress                   | absent        | InProgress |             | shown awaited
refused, then deleted         | absent        | Refused    |             | -
replaced, then deleted        | absent        | Replaced   |             | -
";

    fn set(words: &str) -> Option<SeenSet> {
        let replace = |value: &str| json!({"claim-rollout.io/staged": "{}", "claim-rollout.io/replace-set": value});
        let (annotations, marked) = words.split_once(' ').unwrap_or((words, ""));
        let annotations = match annotations {
            "staged" => json!({"claim-rollout.io/staged": "{}"}),
            "asked" => replace("WhenComplete"),
            "never" => replace("Never"),
            "paused" => {
                let mut paused = replace("WhenComplete");
                paused["claim-rollout.io/paused"] = json!("true");
                paused
            }
            "done" => json!({"claim-rollout.io/replace-set": "WhenComplete"}),
            _ => return None,
        };
        let finalizers = (!marked.is_empty()).then_some("claim-rollout.io/replacing");
        let finalizers: Vec<&str> = finalizers.into_iter().collect();
        let metadata = json!({"name": "web", "annotations": annotations, "finalizers": finalizers});
        Some(SeenSet::read(&json!({ "metadata": metadata })).expect("a set"))
    }

    #[test]
    fn replacement_is_shown_and_awaited_as_long_as_it_matters() {
        for row in STATES.lines().skip(1) {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let (set, phase, reason) = (set(cells[1]), cells[2], cells[3]);
            let report = (!phase.is_empty()).then(|| reported(json!({"phase": phase, "reason": reason})));
            let shown = shown(report.as_ref(), set.as_ref());
            let awaited = is_awaited(shown.as_ref(), set.as_ref()).then_some("awaited");
            let found: Vec<&str> = shown.map(|_| "shown").into_iter().chain(awaited).collect();
            assert_eq!(found.join(" "), cells[4].trim_matches('-'), "{row}");
        }
    }
}

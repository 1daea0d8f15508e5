use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use super::{Arguments, DryRun, HandResult, SetPlace, ShownSteps, after, before, command, step_in_words};
use crate::api::ReplacementReason as Reason;
use crate::controller::by_hand::{Ended, HandCheck, Happened};
use crate::replace::{End, Fault, LiveSet, SetVersion, Step};

const PLACE: SetPlace<'_> = SetPlace {
    namespace: "shop",
    name: "web",
    journals: "claim-rollout",
    takes_back: false,
};

fn fault(reason: Reason, message: &str) -> Fault {
    Fault {
        reason,
        message: message.to_owned(),
    }
}

fn set(metadata: &Value) -> LiveSet {
    let mut object = json!({"metadata": {"name": "web", "uid": "u"}});
    for (key, value) in metadata.as_object().expect("fields") {
        object["metadata"][key] = value.clone();
    }
    LiveSet::new(object)
}

/// What a result prints, after its kind.
fn printed(result: anyhow::Result<Option<HandResult>>) -> String {
    match result {
        Ok(None) => "go on".to_owned(),
        Ok(Some(HandResult::Done(text))) => format!("0 {text}"),
        Ok(Some(HandResult::NotReplaced(text))) => format!("1 {text}"),
        Err(error) => format!("2 {error}"),
    }
}

fn unmark() -> Step {
    Step::Unmark {
        set: SetVersion {
            uid: "u".to_owned(),
            resource_version: "1".to_owned(),
        },
        generation: 1,
        finalizers: Vec::new(),
        when_deleted: None,
    }
}

/// A state, the set, the first step, and what the command prints.
type FirstRow = (&'static str, Option<LiveSet>, Step, &'static str);

fn first(set: Option<LiveSet>, has_begun: bool, step: Step, dry_run: DryRun) -> String {
    printed(before(&PLACE, &HandCheck { set, has_begun, step }, dry_run))
}

#[test]
fn first_decision_to_end_is_the_result() {
    let nothing = || Step::End(End::Nothing);
    let refused = Step::End(End::Refused(fault(Reason::PodNotReady, "Pod web-1 is not Ready")));
    let unreadable = json!({"annotations": {"claim-rollout.io/staged": "{"}});
    let deleted = json!({"deletionTimestamp": "2026-11-23T12:00:00Z"});
    let plain = || Some(set(&json!({})));
    let rows: [FirstRow; 5] = [
        (
            "absent",
            None,
            nothing(),
            "2 StatefulSet \"web\" not found in namespace shop",
        ),
        (
            "nothing staged",
            plain(),
            nothing(),
            "0 statefulset.apps/web needs no replacement: nothing is staged that is not live\n",
        ),
        (
            "unreadable",
            Some(set(&unreadable)),
            nothing(),
            "2 the staged change of StatefulSet web cannot be read",
        ),
        (
            "deleted by a user",
            Some(set(&deleted)),
            nothing(),
            "2 StatefulSet web is being deleted",
        ),
        (
            "refused",
            plain(),
            refused,
            "1 statefulset.apps/web not replaced: PodNotReady: Pod web-1 is not Ready\n  what to do: ",
        ),
    ];
    for (what, set, step, expected) in rows {
        for dry_run in [DryRun::None, DryRun::Server] {
            let found = first(set.clone(), false, step.clone(), dry_run);
            assert!(found.starts_with(expected), "{what}, {dry_run:?}: {found}");
        }
    }
}

#[test]
fn first_decision_to_write_goes_on_without_dry_run() {
    let plain = || Some(set(&json!({})));
    for (set, has_begun, step, expected) in [
        (
            None,
            true,
            Step::Create(json!({})),
            "is being replaced, and the replacement would go on",
        ),
        (plain(), false, Step::DisownReport, "would be replaced"),
        (
            plain(),
            true,
            unmark(),
            "is being replaced, and the last steps would be made",
        ),
    ] {
        let found = first(set.clone(), has_begun, step.clone(), DryRun::None);
        assert_eq!(found, "go on", "{expected}");
        let expected = format!("0 statefulset.apps/web {expected} (server dry run)\n");
        assert_eq!(first(set, has_begun, step, DryRun::Server), expected);
    }
}

/// The reason and the message, and what the user reads to do.
#[test]
fn advice_depends_on_the_reason() {
    let account = "--as=system:serviceaccount:claim-rollout:claim-rollout-controller";
    for (reason, message, expected) in [
        (
            Reason::CreateDenied,
            "user alice may not add or remove the finalizer claim-rollout.io/replacing: only the controller may",
            account,
        ),
        (
            Reason::StepDenied,
            "may not delete StatefulSet web now: it is being replaced",
            account,
        ),
        (Reason::StepDenied, "exceeded quota", "deploy/replace-sets.yaml"),
        (Reason::DeleteDenied, "forbidden", "deploy/replace-sets.yaml"),
        (Reason::GuardMissing, "no guard", "kubectl apply -k deploy/guard"),
        (
            Reason::TooYoung,
            "younger",
            "wait, and repeat the command: claim-rollout replace -n shop web",
        ),
        (Reason::PodNotReady, "Pod web-1", "docs/replacing.md"),
        (
            Reason::WaitsForGarbageCollector,
            "an object",
            "bring the garbage collector of kube-controller-manager back",
        ),
        (
            Reason::JournalRefused,
            "of a backup",
            "kubectl get secrets -n claim-rollout -l claim-rollout.io/journal",
        ),
        (Reason::SetAbsent, "it does not exist", "apply its manifest"),
    ] {
        let text = super::not_replaced(&PLACE, &fault(reason, message));
        let (first, second) = text.split_once("\n  what to do: ").expect("two lines");
        assert_eq!(first, format!("statefulset.apps/web not replaced: {reason}: {message}"));
        assert!(second.contains(expected), "{reason}: {second}");
    }
}

#[test]
fn progress_stops_at_a_denial_and_notes_the_absence() {
    let denial = || fault(Reason::StepDenied, "exceeded quota");
    let waits = fault(Reason::WaitsForGarbageCollector, "an object");
    for (what, happened, stops, absent) in [
        ("a step", Happened::Step("Mark"), false, None),
        ("a wait", Happened::Stalled(waits), false, None),
        ("a denial", Happened::Stalled(denial()), true, None),
        (
            "the absence",
            Happened::Absent(Duration::from_millis(9)),
            false,
            Some(9),
        ),
    ] {
        let (mut progress, stopping) = (ShownSteps::default(), AtomicBool::new(false));
        progress.on(&PLACE, happened, &stopping);
        assert_eq!(stopping.load(Ordering::Acquire), stops, "{what}");
        assert_eq!(progress.denied, stops.then(denial), "{what}");
        assert_eq!(progress.absent_millis, absent, "{what}");
    }
}

#[test]
fn end_of_a_run_is_its_exit_code_and_text() {
    let denied = || Some(fault(Reason::StepDenied, "exceeded quota"));
    for (ended, denied, absent_millis, expected) in [
        (
            Ended::Replaced,
            None,
            Some(9),
            "0 statefulset.apps/web replaced; it did not exist for 9ms\n",
        ),
        (Ended::Replaced, None, None, "0 statefulset.apps/web replaced\n"),
        (
            Ended::Nothing,
            None,
            None,
            "0 statefulset.apps/web needs no replacement any more\n",
        ),
        (
            Ended::Refused(fault(Reason::PartitionSet, "the partition is 1")),
            None,
            None,
            "1 statefulset.apps/web not replaced: PartitionSet: the partition is 1\n",
        ),
        (
            Ended::Foreign(fault(Reason::ForeignSet, "other templates")),
            None,
            None,
            "1 statefulset.apps/web not replaced: ForeignSet: other templates\n",
        ),
        (
            Ended::Absent(fault(Reason::SetAbsent, "it does not exist")),
            None,
            Some(9),
            "1 statefulset.apps/web not replaced: SetAbsent: it does not exist\n",
        ),
        (
            Ended::Stopped,
            None,
            None,
            "2 stopped; to go on: claim-rollout replace -n shop web",
        ),
        (
            Ended::Stopped,
            denied(),
            None,
            "1 statefulset.apps/web not replaced: StepDenied: exceeded quota\n",
        ),
    ] {
        let is_in_progress = denied.is_some();
        let progress = ShownSteps {
            denied,
            absent_millis,
            ..ShownSteps::default()
        };
        let found = printed(after(&PLACE, ended, progress).map(Some));
        assert!(found.starts_with(expected), "{found}");
        let goes_on = "it is in progress; to go on: claim-rollout replace -n shop web\n";
        assert_eq!(found.ends_with(goes_on), is_in_progress, "{found}");
    }
}

/// `--take-back` waits for nothing that others have to end, and shows how to keep the StatefulSet.
#[test]
fn taking_back_ends_at_the_first_stall() {
    let place = SetPlace {
        takes_back: true,
        ..PLACE
    };
    let waits = || fault(Reason::WaitsForGarbageCollector, "an object");
    let (mut progress, stopping) = (ShownSteps::default(), AtomicBool::new(false));
    progress.on(&place, Happened::Stalled(waits()), &stopping);
    assert!(stopping.load(Ordering::Acquire));
    let found = printed(after(&place, Ended::Stopped, progress).map(Some));
    assert!(
        found.starts_with("1 statefulset.apps/web not replaced: WaitsForGarbageCollector"),
        "{found}"
    );
    assert!(
        found.ends_with("to go on: claim-rollout replace -n shop web --take-back\n"),
        "{found}"
    );
    let found = printed(after(&place, Ended::Nothing, ShownSteps::default()).map(Some));
    let keep = "kubectl annotate -n shop statefulset.apps/web claim-rollout.io/replace-set=Never --overwrite";
    assert!(
        found.starts_with("0 statefulset.apps/web is as before") && found.contains(keep),
        "{found}"
    );
    let found = printed(after(&place, Ended::Replaced, ShownSteps::default()).map(Some));
    assert_eq!(found, "0 statefulset.apps/web replaced\n");
}

#[test]
fn taking_back_is_tried_by_a_dry_run() {
    let place = SetPlace {
        takes_back: true,
        ..PLACE
    };
    let terminating = json!({"deletionTimestamp": "2026-01-01T00:00:00Z"});
    for (set, step, expected) in [
        (
            Some(set(&json!({}))),
            unmark(),
            "0 statefulset.apps/web would be taken back",
        ),
        (
            Some(set(&terminating)),
            Step::DisownReport,
            "0 statefulset.apps/web is deleted already",
        ),
        (None, Step::DisownReport, "0 statefulset.apps/web is deleted already"),
        (
            Some(set(&json!({}))),
            Step::End(End::Nothing),
            "0 statefulset.apps/web is not being replaced",
        ),
        (
            Some(set(&terminating)),
            Step::End(End::Nothing),
            "2 StatefulSet web is being deleted",
        ),
        (
            None,
            Step::End(End::Refused(fault(Reason::JournalRefused, "of a backup"))),
            "1 statefulset.apps/web not replaced: JournalRefused",
        ),
    ] {
        let check = HandCheck {
            set,
            has_begun: true,
            step,
        };
        let found = printed(before(&place, &check, DryRun::Server));
        assert!(found.starts_with(expected), "{found}");
    }
}

#[test]
fn command_names_another_namespace_of_journals() {
    assert_eq!(
        command("shop", "web", "claim-rollout"),
        "claim-rollout replace -n shop web"
    );
    let elsewhere = command("shop", "web", "ops");
    assert_eq!(elsewhere, "claim-rollout replace -n shop web --system-namespace ops");
}

#[test]
fn every_step_has_words() {
    let source = include_str!("../replace/step.rs");
    let (_, body) = source.split_once("fn name(&self)").expect("the names of the steps");
    let names = body
        .lines()
        .filter_map(|line| line.split_once("=> \"")?.1.strip_suffix("\","));
    let writing: Vec<&str> = names.filter(|name| !["Read", "Wait", "End"].contains(name)).collect();
    assert!(writing.len() > 10, "{writing:?}");
    for step in writing {
        assert_ne!(
            step_in_words(step),
            step_in_words("a step of a newer version"),
            "{step}"
        );
    }
}

#[test]
fn dry_run_has_the_modes_of_kubectl() {
    use clap::{Args as _, FromArgMatches as _};
    for (line, expected) in [
        ("replace web", Some(DryRun::None)),
        ("replace web --dry-run", Some(DryRun::Server)),
        ("replace --dry-run web", Some(DryRun::Server)),
        ("replace web --dry-run=server", Some(DryRun::Server)),
        ("replace web --dry-run=none", Some(DryRun::None)),
        ("replace web --dry-run=client", None),
    ] {
        let parser = Arguments::augment_args(clap::Command::new("replace"));
        let found = parser.try_get_matches_from(line.split(' ')).ok();
        let found = found.map(|matches| Arguments::from_arg_matches(&matches).expect("arguments").dry_run);
        assert_eq!(found, expected, "{line}");
    }
}

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;

use super::{Arguments, DryRun, HandResult, SetPlace, ShownSteps, after, before, command, step_in_words};
use crate::api::ReplacementReason as Reason;
use crate::controller::by_hand::{Ended, HandCheck, Happened};
use crate::replace::{End, Fault, LiveSet, SetVersion, Step};
use crate::rollout::fixtures::rows;

const PLACE: SetPlace<'_> = SetPlace {
    namespace: "shop",
    name: "web",
    journals: "claim-rollout",
    takes_back: false,
};
const TAKING_BACK: SetPlace<'_> = SetPlace {
    takes_back: true,
    ..PLACE
};

/// A reason and a message, as in `PodNotReady: Pod web-1`.
fn fault(text: &str) -> Fault {
    let (reason, message) = text.split_once(": ").expect("a message");
    Fault {
        reason: Reason::read(reason).expect("a reason"),
        message: message.to_owned(),
    }
}

/// The set of these words; none if it does not exist.
fn set(words: &str) -> Option<LiveSet> {
    let mut object = json!({"metadata": {"name": "web", "uid": "u"}});
    match words {
        "absent" => return None,
        "deleted" => object["metadata"]["deletionTimestamp"] = json!("2026-11-23T12:00:00Z"),
        "unreadable" => object["metadata"]["annotations"] = json!({"claim-rollout.io/staged": "{"}),
        _ => {}
    }
    Some(LiveSet::new(object))
}

fn step(words: &str) -> Step {
    match words {
        "Nothing" => Step::End(End::Nothing),
        "Create" => Step::Create(json!({})),
        "DisownReport" => Step::DisownReport,
        "Unmark" => Step::Unmark {
            set: SetVersion {
                uid: "u".to_owned(),
                resource_version: "1".to_owned(),
            },
            generation: 1,
            finalizers: Vec::new(),
            when_deleted: None,
        },
        refused => Step::End(End::Refused(fault(refused))),
    }
}

fn ended(words: &str) -> Ended {
    match words.split_once(' ') {
        None if words == "Replaced" => Ended::Replaced,
        None if words == "Nothing" => Ended::Nothing,
        None => Ended::Stopped,
        Some(("Refused", why)) => Ended::Refused(fault(why)),
        Some(("Foreign", why)) => Ended::Foreign(fault(why)),
        Some((_, why)) => Ended::Absent(fault(why)),
    }
}

/// The exit code of a result, and what it prints in one line.
fn printed(result: anyhow::Result<Option<HandResult>>) -> String {
    let text = match result {
        Ok(None) => "go on".to_owned(),
        Ok(Some(HandResult::Done(text))) => format!("0 {text}"),
        Ok(Some(HandResult::NotReplaced(text))) => format!("1 {text}"),
        Err(error) => format!("2 {error}"),
    };
    text.trim_end()
        .replace("\n  ", "; ")
        .replacen("statefulset.apps/web ", "", 1)
}

/// What is asked for, whether it is a dry run, whether a replacement has begun, the set, the first step, and the result.
const FIRST: &str = "
    replace | run dry | | absent | Nothing | 2 StatefulSet \"web\" not found in namespace shop
    replace | run dry | | there | Nothing | 0 needs no replacement: nothing is staged that is not live
    replace | run dry | | unreadable | Nothing \
        | 2 the staged change of StatefulSet web cannot be read: claim-rollout doctor shows why
    replace | run dry | | deleted | Nothing | 2 StatefulSet web is being deleted
    replace | run dry | | there | PodNotReady: Pod web-1 is not Ready \
        | 1 not replaced: PodNotReady: Pod web-1 is not Ready; what to do: see the reason in docs/replacing.md, \
        and repeat the command
    replace | run | begun | absent | Create | go on
    replace | run | | there | DisownReport | go on
    replace | run | begun | there | Unmark | go on
    replace | dry | begun | absent | Create \
        | 0 is being replaced, and the replacement would go on (server dry run)
    replace | dry | | there | DisownReport | 0 would be replaced (server dry run)
    replace | dry | begun | there | Unmark \
        | 0 is being replaced, and the last steps would be made (server dry run)
    take back | dry | begun | there | Unmark | 0 would be taken back (server dry run)
    take back | dry | begun | deleted | DisownReport \
        | 0 is deleted already, and its replacement would be finished (server dry run)
    take back | dry | begun | absent | DisownReport \
        | 0 is deleted already, and its replacement would be finished (server dry run)
    take back | dry | begun | there | Nothing | 0 is not being replaced
    take back | dry | begun | deleted | Nothing | 2 StatefulSet web is being deleted
    take back | dry | begun | absent | JournalRefused: of a backup \
        | 1 not replaced: JournalRefused: of a backup; what to do: kubectl get secrets -n claim-rollout -l \
        claim-rollout.io/journal shows the journals. If the StatefulSet in this one exists as it should be, \
        delete the Secret
";

#[test]
fn first_decision_is_the_result_or_goes_on() {
    for [place, dry_run, begun, words, first, expected] in rows(FIRST) {
        let place = if place == "replace" { &PLACE } else { &TAKING_BACK };
        let check = || HandCheck {
            set: set(words),
            has_begun: begun == "begun",
            step: step(first),
        };
        for (mode, name) in [(DryRun::None, "run"), (DryRun::Server, "dry")] {
            if dry_run.contains(name) {
                let found = printed(before(place, &check(), mode));
                assert_eq!(found, expected, "{dry_run} {begun} {words} {first}");
            }
        }
    }
}

/// The reason and the message, and what the user reads to do.
const ADVICE: &str = "
    CreateDenied: user alice may not add or remove the finalizer claim-rollout.io/replacing: only the \
        controller may | the guard allows a replacement to the controller only: repeat the command with \
        --as=system:serviceaccount:claim-rollout:claim-rollout-controller, or let the controller do it: kubectl \
        annotate -n shop statefulset.apps/web claim-rollout.io/replace-set=WhenComplete --overwrite
    StepDenied: may not delete StatefulSet web now: it is being replaced \
        | the guard allows a replacement to the controller only: repeat the command with \
        --as=system:serviceaccount:claim-rollout:claim-rollout-controller, or let the controller do it: kubectl \
        annotate -n shop statefulset.apps/web claim-rollout.io/replace-set=WhenComplete --overwrite
    StepDenied: exceeded quota | read the message; the rights that are needed are in deploy/replace-sets.yaml
    DeleteDenied: forbidden | read the message; the rights that are needed are in deploy/replace-sets.yaml
    GuardMissing: no guard | claim-rollout doctor shows the command that installs it. If it is installed, you may \
        not read it: you need to list validatingadmissionpolicies and their bindings
    TooYoung: younger | wait, and repeat the command: claim-rollout replace -n shop web
    PodNotReady: Pod web-1 | see the reason in docs/replacing.md, and repeat the command
    WaitsForGarbageCollector: an object | bring the garbage collector of kube-controller-manager back. It \
        removes the references to the old StatefulSet. Do not remove finalizers by hand: Kubernetes would \
        delete every Pod
    JournalRefused: of a backup | kubectl get secrets -n claim-rollout -l claim-rollout.io/journal shows the \
        journals. If the StatefulSet in this one exists as it should be, delete the Secret
    SetAbsent: it does not exist | if it is wanted, apply its manifest: its Pods that are left are adopted
";

#[test]
fn advice_depends_on_the_reason() {
    for [why, expected] in rows(ADVICE) {
        let text = super::not_replaced(&PLACE, &fault(why));
        let (first, second) = text.split_once("\n  what to do: ").expect("two lines");
        assert_eq!(first, format!("statefulset.apps/web not replaced: {why}"));
        assert_eq!(second.trim_end(), expected, "{why}");
    }
}

#[test]
fn progress_stops_at_a_denial_and_notes_the_absence() {
    let denial = || fault("StepDenied: exceeded quota");
    let waits = || fault("WaitsForGarbageCollector: an object");
    for (what, place, happened, denied, absent) in [
        ("a step", &PLACE, Happened::Step("Mark"), None, None),
        ("a wait", &PLACE, Happened::Stalled(waits()), None, None),
        (
            "a wait, taking back",
            &TAKING_BACK,
            Happened::Stalled(waits()),
            Some(waits()),
            None,
        ),
        ("a denial", &PLACE, Happened::Stalled(denial()), Some(denial()), None),
        (
            "the absence",
            &PLACE,
            Happened::Absent(Duration::from_millis(9)),
            None,
            Some(9),
        ),
    ] {
        let (mut progress, stopping) = (ShownSteps::default(), AtomicBool::new(false));
        progress.on(place, happened, &stopping);
        assert_eq!(stopping.load(Ordering::Acquire), denied.is_some(), "{what}");
        assert_eq!((progress.denied, progress.absent_millis), (denied, absent), "{what}");
    }
}

/// What is asked for, how the run ends, the denial, for how many milliseconds the set did not exist, and the result.
const ENDS: &str = "
    replace | Replaced | | 9 | 0 replaced; it did not exist for 9ms
    replace | Replaced | | | 0 replaced
    replace | Nothing | | | 0 needs no replacement any more
    replace | Refused PartitionSet: the partition is 1 | | \
        | 1 not replaced: PartitionSet: the partition is 1; what to do: see the reason in docs/replacing.md, \
        and repeat the command
    replace | Foreign ForeignSet: other templates | | \
        | 1 not replaced: ForeignSet: other templates; what to do: see the reason in docs/replacing.md, and \
        repeat the command
    replace | Absent SetAbsent: it does not exist | | 9 \
        | 1 not replaced: SetAbsent: it does not exist; what to do: if it is wanted, apply its manifest: its \
        Pods that are left are adopted
    replace | Stopped | | | 2 stopped; to go on: claim-rollout replace -n shop web
    replace | Stopped | StepDenied: exceeded quota | \
        | 1 not replaced: StepDenied: exceeded quota; what to do: read the message; the rights that are needed \
        are in deploy/replace-sets.yaml; it is in progress; to go on: claim-rollout replace -n shop web
    take back | Stopped | WaitsForGarbageCollector: an object | \
        | 1 not replaced: WaitsForGarbageCollector: an object; what to do: bring the garbage collector of \
        kube-controller-manager back. It removes the references to the old StatefulSet. Do not remove \
        finalizers by hand: Kubernetes would delete every Pod; it is in progress; to go on: claim-rollout \
        replace -n shop web --take-back
    take back | Nothing | | | 0 is as before: its replacement is taken back; a controller may begin again; to \
        prevent that: kubectl annotate -n shop statefulset.apps/web claim-rollout.io/replace-set=Never \
        --overwrite
    take back | Replaced | | | 0 replaced
";

#[test]
fn end_of_a_run_is_its_exit_code_and_text() {
    for [place, words, denied, absent, expected] in rows(ENDS) {
        let place = if place == "replace" { &PLACE } else { &TAKING_BACK };
        let progress = ShownSteps {
            denied: (!denied.is_empty()).then(|| fault(denied)),
            absent_millis: absent.parse().ok(),
            ..ShownSteps::default()
        };
        let found = printed(after(place, ended(words), progress).map(Some));
        assert_eq!(found, expected, "{words} {denied}");
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

use super::memory::{Consequence, Memory};
use super::step::{End, Fault, SetVersion, Step, Waits};
use super::world::{Dependents, LastVersion, World};
use super::{Journal, LiveSet, MachineKind, Millis, Reply, SetObjects};
use crate::api::{ApiOutcome, ReplacementReason as Reason, Settings};
use crate::rollout::fixtures::{staged_change, template};
use crate::templates::keys;
use serde_json::json;

fn set(change: impl FnOnce(&mut serde_json::Value)) -> LiveSet {
    let staged = staged_change(vec![template("data", "2Gi")]).write().expect("JSON");
    let mut object = json!({
        "metadata": {"namespace": "shop", "name": "web", "uid": "set-uid", "resourceVersion": "7", "generation": 4,
            "annotations": {(keys::STAGED): staged}},
        "spec": {"replicas": 3},
    });
    change(&mut object);
    LiveSet::new(object)
}

fn mark(object: &mut serde_json::Value) {
    object["metadata"]["finalizers"] = json!([super::FINALIZER]);
}

fn world(settings: &Settings, now: Millis) -> World<'_> {
    let objects = SetObjects {
        set: Some(set(|_| {})),
        ..SetObjects::default()
    };
    objects.world(now, settings, |_, _| Ok(()), MachineKind::Controller)
}

fn shown<'a>(memory: &mut Memory, settings: &'a Settings, now: Millis) -> World<'a> {
    let mut world = world(settings, now);
    memory.show(&mut world);
    world
}

fn version() -> SetVersion {
    SetVersion {
        uid: "set-uid".to_owned(),
        resource_version: "7".to_owned(),
    }
}

fn waits(waits: Waits) -> Step {
    Step::Wait { millis: 50, waits }
}

fn fault(reason: Reason) -> Fault {
    Fault {
        reason,
        message: String::new(),
    }
}

/// From five seconds after the first of them was read, checks are made again.
#[test]
fn checks_count_for_five_seconds() {
    let settings = Settings::default();
    for (later, expected) in [(0, Some(true)), (4_999, Some(true)), (5_000, None), (60_000, None)] {
        let mut memory = Memory::default();
        let mut seen = world(&settings, 1_000);
        (seen.checks.guarded, seen.checks.quotas) = (Some(true), Some(Vec::new()));
        memory.keep(&seen, &Step::End(End::Nothing));
        // Another decision a moment later does not make them younger.
        let again = shown(&mut memory, &settings, 1_000 + (later / 2).min(4_000));
        memory.keep(&again, &Step::Mark(version()));
        let found = shown(&mut memory, &settings, 1_000 + later);
        assert_eq!(found.checks.guarded, expected, "{later}");
        assert_eq!(found.checks.quotas.is_some(), expected.is_some(), "{later}");
        assert_eq!(found.checks.checked.is_some(), expected.is_some(), "{later}");
    }
}

/// The settling begins when nothing refers to the set, and again after each DELETE.
#[test]
fn settling_begins_again_after_a_delete() {
    let settings = Settings::default();
    let mut memory = Memory::default();
    for (now, step, expected) in [
        (1_000, waits(Waits::Settling), Some(1_000)),
        (2_000, waits(Waits::Settling), Some(1_000)),
        (2_100, Step::DisownReport, Some(1_000)),
        (
            2_500,
            Step::Delete {
                uid: "set-uid".to_owned(),
                resource_version: None,
            },
            None,
        ),
        (3_000, waits(Waits::Settling), Some(3_000)),
    ] {
        let seen = shown(&mut memory, &settings, now);
        memory.keep(&seen, &step);
        assert_eq!(
            shown(&mut memory, &settings, now).unreferenced_since,
            expected,
            "{step:?}"
        );
    }
}

/// What was read before a clock was set back is not fresh for that long, and what is waited for is not waited for anew.
#[test]
fn clock_that_was_set_back_makes_nothing_younger() {
    let (settings, before) = (Settings::default(), 100_000_000);
    let mut memory = Memory::default();
    let mut seen = world(&settings, before);
    (seen.checks.guarded, seen.checks.quotas) = (Some(true), Some(Vec::new()));
    memory.keep(&seen, &waits(Waits::Others(fault(Reason::PodNotAdopted))));
    memory.unreferenced_since = Some(before);
    let back = shown(&mut memory, &settings, 1_000);
    assert_eq!(
        (back.checks.guarded, back.checks.quotas.is_some()),
        (None, false),
        "checks are made again"
    );
    let later = shown(&mut memory, &settings, 5_000);
    assert_eq!(later.unreferenced_since, Some(1_000), "it settles from then on");
    assert_eq!(later.waits_since, Some(1_000), "it waits from then on");
}

/// What refers to the set is read again after every step that others may answer.
#[test]
fn dependents_are_read_again_after_each_step_but_some() {
    let settings = Settings::default();
    let journal = Journal::prepare(&set(|_| {}), None, 0).expect("a staged change");
    for (step, is_kept) in [
        (Step::WriteJournal(Box::new(journal)), true),
        (Step::LetGo(json!({})), true),
        (Step::OwnReport { uid: "u".to_owned() }, true),
        (Step::Mark(version()), false),
        (Step::Create(json!({})), false),
        (waits(Waits::Settling), false),
        (waits(Waits::Others(fault(Reason::PodNotAdopted))), false),
    ] {
        let mut memory = Memory::default();
        let mut seen = world(&settings, 1_000);
        seen.dependents = Some(Dependents::default());
        memory.keep(&seen, &step);
        let found = shown(&mut memory, &settings, 1_001).dependents.is_some();
        assert_eq!(found, is_kept, "{step:?}");
        // Nobody knows what happened since.
        memory.keep(&seen, &step);
        memory.answered(
            (None, None),
            [None, None, None],
            (&step, "step"),
            &ApiOutcome::unsure("no answer"),
        );
        assert!(shown(&mut memory, &settings, 1_001).dependents.is_none(), "{step:?}");
        memory.keep(&seen, &Step::LetGo(json!({})));
        memory.forget_dependents();
        assert!(shown(&mut memory, &settings, 1_001).dependents.is_none(), "{step:?}");
    }
}

/// The namespace and the last version are those of this round.
#[test]
fn namespace_and_last_version_are_read_in_each_round() {
    let settings = Settings::default();
    let mut memory = Memory::default();
    let mut seen = world(&settings, 1_000);
    (seen.namespace, seen.last_version) = (Some("n".to_owned()), Some(LastVersion::Unknown));
    memory.keep(&seen, &Step::Create(json!({})));
    let same = shown(&mut memory, &settings, 1_000);
    assert_eq!(
        (same.namespace.as_deref(), same.last_version),
        (Some("n"), Some(LastVersion::Unknown))
    );
    memory.forget_reads();
    let next = shown(&mut memory, &settings, 1_000);
    assert_eq!((next.namespace, next.last_version), (None, None));
}

/// The time that counts is that of one reason.
#[test]
fn wait_is_as_long_as_its_reason() {
    let settings = Settings::default();
    let mut memory = Memory::default();
    let others = |reason| waits(Waits::Others(fault(reason)));
    for (now, step, expected) in [
        (1_000, others(Reason::PodNotAdopted), Some(1_000)),
        (2_000, others(Reason::PodNotAdopted), Some(1_000)),
        (70_000, waits(Waits::Stalled(fault(Reason::PodNotAdopted))), Some(1_000)),
        (80_000, others(Reason::StatusOutdated), Some(80_000)),
        (90_000, Step::DeleteJournal, None),
        (95_000, others(Reason::PodNotAdopted), Some(95_000)),
    ] {
        let seen = shown(&mut memory, &settings, now);
        memory.keep(&seen, &step);
        assert_eq!(
            shown(&mut memory, &settings, now).waits_since,
            expected,
            "{now} {step:?}"
        );
    }
}

/// The generation at which the PVCs are first seen to be kept.
#[test]
fn retained_generation_is_the_first_one() {
    let settings = Settings::default();
    let mut memory = Memory::default();
    for (generation, is_marked, expected) in [
        (3, false, None),
        (4, true, Some(4)),
        (9, true, Some(4)),
        (9, false, None),
    ] {
        let mut seen = shown(&mut memory, &settings, 0);
        seen.set = Some(set(|object| {
            object["metadata"]["generation"] = generation.into();
            if is_marked {
                mark(object);
            }
        }));
        memory.keep(&seen, &Step::DisownReport);
        assert_eq!(
            shown(&mut memory, &settings, 0).retained_at,
            expected,
            "{generation} {is_marked}"
        );
    }
}

fn versions(set: &str) -> [Option<String>; 3] {
    [Some(set.to_owned()), None, None]
}

/// A 404 or a 409 is a change of the object once, and with other versions; then somebody denies the write.
#[test]
fn code_of_a_change_is_believed_once() {
    let marked = set(mark);
    let of = (Some(&marked), None);
    let (mark, delete) = (Step::Mark(version()), Step::DeleteJournal);
    let mut memory = Memory::default();
    let mut meet = |step: &Step, name: &str, version: &str, answer: &_| {
        memory.answered(of, versions(version), (step, name), answer)
    };
    let code = &ApiOutcome::NotFound("404 admission webhook \"x\" denied the request".to_owned());
    assert_eq!(meet(&mark, "Mark", "7", code), Consequence::ReadAgain);
    assert_eq!(meet(&mark, "Mark", "8", code), Consequence::ReadAgain);
    assert_eq!(meet(&delete, "DeleteJournal", "8", code), Consequence::ReadAgain);
    assert_eq!(meet(&mark, "Mark", "8", code), Consequence::ReadAgain);
    assert_eq!(meet(&mark, "Mark", "8", code), Consequence::TakenBack);
    assert_eq!(meet(&delete, "DeleteJournal", "8", code), Consequence::ReadAgain);
    let stalled = meet(&delete, "DeleteJournal", "8", code);
    let Consequence::Stalled(fault) = &stalled else {
        panic!("{stalled:?}");
    };
    assert_eq!(fault.reason, Reason::StepDenied);
    assert!(fault.message.contains("admission webhook"), "{}", fault.message);
    // Every later one too.
    assert_eq!(meet(&delete, "DeleteJournal", "8", code), stalled);
    assert_eq!(
        meet(&delete, "DeleteJournal", "8", &ApiOutcome::Done(Reply::Nothing)),
        Consequence::Done
    );
    assert_eq!(meet(&delete, "DeleteJournal", "8", code), Consequence::ReadAgain);
}

/// A denial before the deletion is taken back, and after it reported.
#[test]
fn denial_is_taken_back_or_reported() {
    let settings = Settings::default();
    let (present, terminating) = (
        set(mark),
        set(|object| object["metadata"]["deletionTimestamp"] = "t".into()),
    );
    let prepared = Journal::prepare(&set(|_| {}), None, 0).expect("a staged change");
    let released = prepared.release(&present, Vec::new(), "n", "s");
    let delete = Step::Delete {
        uid: "set-uid".to_owned(),
        resource_version: None,
    };
    for (row, set, journal, step, is_reported) in [
        ("before", Some(&present), Some(&prepared), &delete, false),
        ("terminating", Some(&terminating), Some(&prepared), &delete, true),
        ("absent", None, Some(&released), &Step::Create(json!({})), true),
        ("created", Some(&present), Some(&released), &Step::Mark(version()), true),
        ("backs out", Some(&present), Some(&prepared), &Step::DeleteJournal, true),
    ] {
        let mut memory = Memory::default();
        let consequence = memory.answered(
            (set, journal),
            versions("7"),
            (step, "step"),
            &ApiOutcome::denied("Forbidden", "no".to_owned()),
        );
        assert_eq!(
            matches!(consequence, Consequence::Stalled(_)),
            is_reported,
            "{row}: {consequence:?}"
        );
        let denied = shown(&mut memory, &settings, 0).denied;
        assert_eq!(denied.is_some(), !is_reported, "{row}");
        let message = denied.map(|fault| fault.message).unwrap_or_default();
        assert!(
            is_reported || message == "the step step was denied: Forbidden: no",
            "{row}: {message}"
        );
    }
}

/// What this process has restored is not restored again.
#[test]
fn restored_parts_are_known_after_the_answer() {
    let settings = Settings::default();
    for (answer, expected) in [
        (ApiOutcome::Done(Reply::Nothing), Some("set-uid")),
        (ApiOutcome::unsure("no answer"), None),
        (ApiOutcome::Conflict("409".to_owned()), None),
    ] {
        let mut memory = Memory::default();
        let strategy = Step::RestoreStrategy {
            set: version(),
            strategy: json!({}),
        };
        let managers = Step::RestoreManagers {
            set: version(),
            managed_fields: json!([]),
        };
        for step in [&strategy, &managers] {
            memory.answered((None, None), versions("7"), (step, "step"), &answer);
        }
        let found = shown(&mut memory, &settings, 0);
        assert_eq!(found.verified.as_deref(), expected, "{answer:?}");
        assert_eq!(found.managers_restored.as_deref(), expected, "{answer:?}");
    }
}

use serde_json::{Value, json};

use super::{CONFLICTS, Machine};
use crate::api::{ApiOutcome, ReplacementReason as Reason, Settings};
use crate::replace::{
    Ended, FINALIZER, Fault, Happened, Journal, LiveSet, MachineKind, Part, PauseCause, ReplaceTask, Reply, SetObjects,
    SetVersion, StartFrom, Step,
};
use crate::rollout::fixtures::{staged_change, template};
use crate::templates::keys;

fn machine(settings: &Settings, kind: MachineKind, from: StartFrom) -> Machine<'_> {
    Machine::new(settings, |_, _| Ok(()), kind, from)
}

fn set(version: u32) -> LiveSet {
    let staged = staged_change(vec![template("data", "2Gi")]).write().expect("JSON");
    LiveSet::new(json!({
        "metadata": {"namespace": "shop", "name": "web", "uid": "set-uid", "resourceVersion": version.to_string(),
            "generation": 4, "finalizers": [FINALIZER], "annotations": {(keys::STAGED): staged}},
        "spec": {"replicas": 3},
    }))
}

/// The set, and no journal.
fn present() -> SetObjects {
    SetObjects {
        set: Some(set(0)),
        ..SetObjects::default()
    }
}

/// The set was let go, and is yet to be created.
fn absent() -> SetObjects {
    let prepared = Journal::prepare(&set(7), None, 0).expect("a staged change");
    SetObjects {
        journal: Some(prepared.release(&set(7), Vec::new(), "ns-1", "secret-uid")),
        secret: Some("secret-uid".to_owned()),
        ..SetObjects::default()
    }
}

fn mark(version: u32) -> Step {
    Step::Mark(SetVersion {
        uid: "set-uid".to_owned(),
        resource_version: version.to_string(),
    })
}

/// The next task in a word, with the time of a pause.
fn task(machine: &mut Machine<'_>, now: u64) -> String {
    match machine.next(now, false) {
        ReplaceTask::Observe => "observe".to_owned(),
        ReplaceTask::ObserveSet => "observe set".to_owned(),
        ReplaceTask::Fill(_, part) => format!("fill {part:?}"),
        ReplaceTask::Write(step) => format!("write {}", step.name()),
        ReplaceTask::Pause(millis, PauseCause::Failure(why)) => format!("pause {millis} after {why}"),
        ReplaceTask::Pause(millis, cause) => format!("pause {millis} {cause:?}"),
        ReplaceTask::End(_, ended) => format!("{ended:?}"),
    }
}

fn reasons(machine: &mut Machine<'_>) -> Vec<Reason> {
    let notices = machine.notices().into_iter();
    let reasons = notices.filter_map(|notice| match notice.what {
        Happened::Stalled(Fault { reason, .. }) => Some(reason),
        _ => None,
    });
    reasons.collect()
}

#[test]
fn read_that_fails_three_times_ends_what_has_not_begun() {
    let settings = Settings::default();
    let mut machine = machine(&settings, MachineKind::Controller, StartFrom::Nothing);
    for pause in ["pause 1000 after down", "pause 2000 after down"] {
        assert_eq!(task(&mut machine, 0), "observe");
        machine.failed("down".to_owned());
        assert_eq!(task(&mut machine, 0), pause);
    }
    assert_eq!(task(&mut machine, 0), "observe");
    machine.failed("down".to_owned());
    let ended = machine.next(0, false);
    assert!(
        matches!(&ended, ReplaceTask::End(None, Ended::Refused(fault)) if fault.reason == Reason::StepDenied && fault.message == "down"),
        "{ended:?}"
    );
    assert_eq!(reasons(&mut machine), [], "it is the end that is reported");
}

#[test]
fn failures_after_the_beginning_pause_longer_and_are_reported() {
    let settings = Settings::default();
    for (from, expected, most) in [
        (
            StartFrom::Begun,
            [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000],
            60_000,
        ),
        (StartFrom::Absent, [50, 100, 200, 400, 800, 1_000, 1_000], 1_000),
    ] {
        let mut machine = machine(&settings, MachineKind::Controller, from);
        for (number, pause) in (1..).zip(expected) {
            assert_eq!(task(&mut machine, 0), "observe", "{from:?}");
            machine.failed("down".to_owned());
            assert_eq!(task(&mut machine, 0), format!("pause {pause} after down"), "{from:?}");
            let reported: &[Reason] = if number > 2 { &[Reason::StepDenied] } else { &[] };
            assert_eq!(reasons(&mut machine), reported, "failure {number}, {from:?}");
        }
        for _ in 0..100 {
            machine.failed("down".to_owned());
        }
        assert_eq!(task(&mut machine, 0), format!("pause {most} after down"), "{from:?}");
    }
}

/// A write is repeated at once after a conflict, with the version that is read then; after many in a row it pauses.
#[test]
fn conflicts_read_only_the_set_and_pause_after_many() {
    let settings = Settings::default();
    let mut machine = machine(&settings, MachineKind::Controller, StartFrom::Begun);
    machine.observed(present());
    for version in 0..CONFLICTS {
        machine.answered(&mark(version), ApiOutcome::Conflict("changed".to_owned()), 0);
        assert_eq!(task(&mut machine, 0), "observe set", "{version}");
        machine.observed_set(Some(set(version + 1)));
    }
    machine.answered(&mark(CONFLICTS), ApiOutcome::Conflict("changed".to_owned()), 0);
    assert_eq!(task(&mut machine, 0), "pause 100 Conflicts");
    assert_eq!(task(&mut machine, 0), "observe set");
    machine.observed_set(Some(set(99)));
    machine.answered(&mark(99), ApiOutcome::Done(Reply::Set(set(100))), 0);
    machine.answered(&mark(100), ApiOutcome::Conflict("changed".to_owned()), 0);
    assert_eq!(task(&mut machine, 0), "observe set", "they are counted anew");
    assert_eq!(reasons(&mut machine), []);
}

/// A test of a patch that does not hold is `Invalid`, as is much else.
#[test]
fn unmark_that_is_invalid_is_denied_in_the_same_version() {
    let settings = Settings::default();
    let unmark = |version: u32| Step::Unmark {
        set: SetVersion::of(&set(version)),
        generation: 4,
        finalizers: vec![FINALIZER.to_owned()],
        when_deleted: None,
    };
    for (what, step, read, expected) in [
        ("the set has changed", unmark(0), 1, &[][..]),
        ("it is the same", unmark(0), 0, &[Reason::StepDenied]),
        ("a step without tests", mark(0), 0, &[Reason::StepDenied]),
    ] {
        let mut machine = machine(&settings, MachineKind::Controller, StartFrom::Begun);
        let mut objects = absent();
        objects.set = Some(set(0));
        machine.observed(objects);
        let answered = |machine: &mut Machine<'_>| {
            machine.answered(&step, ApiOutcome::denied("Invalid", "no".to_owned()), 0);
            task(machine, 0)
        };
        if answered(&mut machine) == "observe set" {
            machine.observed_set(Some(set(read)));
            answered(&mut machine);
        }
        assert_eq!(reasons(&mut machine), expected, "{what}");
    }
}

/// A write without a version of the set may fail because of another object. So may one that is not found.
#[test]
fn write_that_may_concern_other_objects_makes_all_be_read() {
    let settings = Settings::default();
    for (what, step, answer) in [
        (
            "a CREATE",
            Step::Create(Value::Null),
            ApiOutcome::Conflict("exists".to_owned()),
        ),
        (
            "a set that is not found",
            mark(0),
            ApiOutcome::NotFound("no set".to_owned()),
        ),
    ] {
        let mut machine = machine(&settings, MachineKind::Controller, StartFrom::Begun);
        machine.observed(present());
        machine.answered(&step, answer, 0);
        assert_eq!(task(&mut machine, 0), "observe", "{what}");
    }
}

/// The command `replace` names a set that is to exist.
#[test]
fn set_without_journal_is_absent_for_the_command_alone() {
    let settings = Settings::default();
    for (kind, is_absent) in [(MachineKind::Forced, true), (MachineKind::Controller, false)] {
        let mut machine = machine(&settings, kind, StartFrom::Begun);
        machine.observed(SetObjects::default());
        let ended = task(&mut machine, 0);
        assert_eq!(ended.starts_with("Absent"), is_absent, "{ended}");
    }
}

/// A CREATE names no version of the journal, so that one is read again.
#[test]
fn set_that_was_replaced_or_deleted_makes_all_be_read() {
    let settings = Settings::default();
    let mut other = set(9).object().clone();
    other["metadata"]["uid"] = Value::from("another");
    for (what, found, expected) in [
        ("the same", Some(set(9)), "fill"),
        ("another", Some(LiveSet::new(other)), "observe"),
        ("none", None, "observe"),
    ] {
        let mut machine = machine(&settings, MachineKind::Controller, StartFrom::Begun);
        machine.observed(present());
        machine.answered(&mark(0), ApiOutcome::Conflict("changed".to_owned()), 0);
        assert_eq!(task(&mut machine, 0), "observe set", "{what}");
        machine.observed_set(found);
        let next = task(&mut machine, 0);
        assert_eq!(next == "observe", expected == "observe", "{what}: {next}");
    }
}

#[test]
fn process_that_stops_ends_it_but_creates_an_absent_set() {
    let settings = Settings::default();
    for (what, kind, objects, is_read, ends) in [
        ("between rounds", MachineKind::Controller, absent(), false, true),
        ("the set is absent", MachineKind::Controller, absent(), true, false),
        (
            "it exists",
            MachineKind::Controller,
            SetObjects {
                set: Some(set(0)),
                ..SetObjects::default()
            },
            true,
            true,
        ),
        (
            "by hand, it exists",
            MachineKind::Forced,
            SetObjects {
                set: Some(set(0)),
                ..SetObjects::default()
            },
            true,
            true,
        ),
    ] {
        let mut machine = machine(&settings, kind, StartFrom::Nothing);
        if is_read {
            machine.observed(objects);
        }
        let next = machine.next(0, true);
        assert_eq!(
            matches!(next, ReplaceTask::End(None, Ended::Stopped)),
            ends,
            "{what}: {next:?}"
        );
    }
    // A user who stops means after the creation, also between two rounds; a controller leaves it to the next one.
    for (kind, ends) in [
        (MachineKind::Forced, false),
        (MachineKind::TakesBack, false),
        (MachineKind::Controller, true),
    ] {
        let mut machine = machine(&settings, kind, StartFrom::Absent);
        assert_eq!(machine.stops(true), ends, "{kind:?}");
        let next = machine.next(0, true);
        assert_eq!(
            matches!(next, ReplaceTask::End(None, Ended::Stopped)),
            ends,
            "{kind:?}: {next:?}"
        );
        assert!(!machine.stops(false), "{kind:?}");
    }
}

#[test]
fn postponed_step_has_not_begun_and_is_decided_again() {
    let settings = Settings::default();
    let mut machine = machine(&settings, MachineKind::Controller, StartFrom::Nothing);
    machine.observed(present());
    machine.postponed();
    assert!(!machine.has_begun() && machine.is_between_rounds());
    assert_eq!(machine.notices(), []);
    machine.executes(&mark(0));
    assert!(machine.has_begun());
    let notices: Vec<Happened> = machine.notices().into_iter().map(|notice| notice.what).collect();
    assert_eq!(notices, [Happened::Step("Mark")]);
}

/// Its event may be impossible to read. Without the object, nothing is worth waiting longer for.
#[test]
fn absent_set_with_failures_does_without_its_last_version() {
    let settings = Settings::default();
    for (failures, asks) in [(0, true), (1, true), (2, false)] {
        let mut machine = machine(&settings, MachineKind::Controller, StartFrom::Absent);
        for _ in 0..failures {
            machine.failed("down".to_owned());
        }
        machine.observed(absent());
        let mut parts = Vec::new();
        while let ReplaceTask::Fill(mut world, part) = machine.next(0, false) {
            parts.push(part);
            match part {
                Part::Namespace => world.namespace = Some("ns-1".to_owned()),
                Part::LastVersion => break,
                _ => panic!("{part:?}"),
            }
            machine.filled(world);
        }
        assert_eq!(
            parts.contains(&Part::LastVersion),
            asks,
            "after {failures} failures: {parts:?}"
        );
    }
}

#[test]
fn set_that_is_created_reports_for_how_long_it_was_absent() {
    let settings = Settings::default();
    let mut machine = machine(&settings, MachineKind::Controller, StartFrom::Begun);
    machine.observed(absent());
    machine.answered(&Step::LetGo(Value::Null), ApiOutcome::Done(Reply::Nothing), 1_000);
    assert!(machine.is_absent());
    machine.answered(&Step::Create(Value::Null), ApiOutcome::Done(Reply::Set(set(1))), 1_009);
    assert!(!machine.is_absent());
    let absent = machine.notices().into_iter().find_map(|notice| match notice.what {
        Happened::Absent(time) => Some(time.as_millis()),
        _ => None,
    });
    assert_eq!(absent, Some(9));
}

/// The journal is deleted when a replacement has ended, and also when its user deletes the old set: without the guard in
/// foreground, with a complete journal. Only another set than that of a journal that was complete is the new one.
#[test]
fn set_is_reported_as_replaced_if_another_exists() {
    let deleted = |uid: &str, finalizers: &[&str]| {
        let mut object = set(7).object().clone();
        object["metadata"]["uid"] = uid.into();
        object["metadata"]["deletionTimestamp"] = "2026-01-01T01:00:00Z".into();
        object["metadata"]["finalizers"] = json!(finalizers);
        LiveSet::new(object)
    };
    let released = || absent().journal.expect("a journal");
    let prepared = Journal::prepare(&set(7), None, 0).expect("a staged change");
    for (row, uid, journal, expected) in [
        ("its user deletes the old one", "set-uid", released(), "Nothing"),
        (
            "another process created the new one",
            "new",
            released().created(),
            "Replaced",
        ),
        ("its user created another one", "new", prepared, "Nothing"),
    ] {
        let settings = Settings::default();
        let mut machine = machine(&settings, MachineKind::Controller, StartFrom::Begun);
        machine.observed(SetObjects {
            set: Some(deleted(uid, &[FINALIZER, "foregroundDeletion"])),
            journal: Some(journal),
            ..absent()
        });
        for (name, reply) in [
            ("DeleteJournal", Reply::Nothing),
            ("Unmark", Reply::Set(deleted(uid, &["foregroundDeletion"]))),
        ] {
            let ReplaceTask::Write(step) = machine.next(0, false) else {
                panic!("{row}: {name} is not a step");
            };
            assert_eq!(step.name(), name, "{row}");
            machine.executes(&step);
            machine.answered(&step, ApiOutcome::Done(reply), 0);
        }
        assert_eq!(task(&mut machine, 0), expected, "{row}");
    }
}

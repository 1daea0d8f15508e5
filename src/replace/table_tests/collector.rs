//! The garbage collector: the old set is let go only after nothing refers to it.

use super::process::{Decision, Process, fill, world};
use super::{Change, Cluster, End, Ended, dependent, run, run_alone, state, writes};
use crate::replace::next;
use crate::replace::next::SETTLING;
use crate::replace::step::{Part, Step, Waits};
use crate::replace::task::PauseCause;
use crate::replace::world::ReportOwner;

/// Objects whose references the first pass misses. PVCs have none any more: `whenDeleted` is `Retain`.
const MISSED: &[&[&str]] = &[
    &["web-1"],
    &["ControllerRevision web-a"],
    &["web-0", "web-1", "web-2", "ControllerRevision web-a"],
];

/// The generation at which this process saw that PVCs are retained, the present one, the one that the StatefulSet
/// controller has seen, and whether the set is deleted. A scale after that is not waited for.
#[test]
fn set_is_deleted_after_its_controller_has_seen_retain() {
    for (retained_at, generation, observed, expected) in [
        (None, 3, Some(2), false),
        (None, 3, Some(3), true),
        (None, 3, None, false),
        (Some(3), 3, Some(2), false),
        (Some(3), 3, Some(3), true),
        (Some(3), 9, Some(2), false),
        (Some(3), 9, Some(3), true),
    ] {
        let mut cluster = dependent();
        let mut process = Process::default();
        while !cluster.is_marked() {
            process.go_on(&mut cluster);
        }
        process.decide(&cluster, &mut Vec::new());
        cluster.change(|set| {
            set["status"]["observedGeneration"] = observed.into();
            set["metadata"]["generation"] = generation.into();
        });
        let mut world = world(&cluster, &process);
        world.retained_at = retained_at;
        let step = next(&world);
        let row = format!("{retained_at:?} {generation} {observed:?}: {step:?}");
        assert_eq!(matches!(step, Step::Delete { .. }), expected, "{row}");
        if !expected {
            assert!(row.contains("StatusOutdated"), "{row}");
        }
    }
}

#[test]
fn missed_reference_is_answered_by_another_pass() {
    for missed in MISSED {
        let mut cluster = dependent();
        cluster.missed = missed.to_vec();
        let run = run_alone(&mut cluster);
        assert_eq!(
            writes(&run.steps),
            "WriteJournal(Prepared), DisownReport, Mark, Wait, Delete, Wait, Delete, Wait, WriteJournal(Releasing), LetGo, \
             Create, Wait, RestoreStrategy, RestoreManagers, OwnReport, DeleteJournal, Unmark",
            "{missed:?}"
        );
        assert_eq!(run.ended, Ended::End(End::Nothing), "{missed:?}");
        assert_eq!(state(&cluster), "replaced, whenDeleted Delete", "{missed:?}");
    }
}

/// Runs until the old set is orphaned, and waits until it may be let go.
fn orphaned(change: Change) -> (Cluster, Process) {
    let mut cluster = dependent();
    let mut process = Process::default();
    loop {
        match process.decide(&cluster, &mut Vec::new()) {
            Decision::Pause(millis, PauseCause::Settling) => {
                cluster.now += millis + SETTLING;
                change(&mut cluster);
                return (cluster, process);
            }
            Decision::Pause(millis, _) => {
                cluster.now += millis;
                cluster.settle();
            }
            Decision::Write(step) => _ = process.execute(&mut cluster, &step),
            Decision::End(ended) => panic!("{ended:?}"),
        }
    }
}

/// A reference that appears late, and the step.
const REFERENCES: &[(&str, Change, &str)] = &[
    ("none", |_| {}, "Write(WriteJournal"),
    (
        "a Pod",
        |cluster| cluster.pods[1].owners.push("uid-1".to_owned()),
        "Write(Delete",
    ),
    (
        "a revision or PVC",
        |cluster| cluster.others[0].owners.push("uid-1".to_owned()),
        "Write(Delete",
    ),
    (
        "a Pod of another set",
        |cluster| cluster.pods[1].owners.push("other".to_owned()),
        "Write(WriteJournal",
    ),
    (
        "the ClaimRollout",
        |cluster| cluster.report = ReportOwner::Set("uid-1".to_owned()),
        "Write(DisownReport",
    ),
    (
        "the collector is at work",
        |cluster| cluster.delete(Some("orphan")),
        "Pause(",
    ),
];

#[test]
fn set_is_let_go_only_without_references() {
    for (row, change, expected) in REFERENCES {
        let (cluster, mut process) = orphaned(*change);
        let decision = process.decide(&cluster, &mut Vec::new());
        let found = format!("{decision:?}");
        assert!(found.starts_with(expected), "{row}: {found}");
    }
}

/// What a decision without that check would do: the collector deletes the Pod.
#[test]
fn set_let_go_with_a_reference_loses_the_pod() {
    let (mut cluster, _) = orphaned(|cluster| cluster.pods[1].owners.push("uid-1".to_owned()));
    let set = cluster.live().clone();
    let decision = Step::LetGo(set.unmarked());
    cluster.execute(&decision, None);
    cluster.settle();
    assert_eq!(cluster.set, None);
    assert_eq!(cluster.lost, ["web-1 collected"]);
}

/// Since when nothing refers to the set, and the step.
#[test]
fn set_is_let_go_after_the_caches_have_settled() {
    let (cluster, process) = orphaned(|_| {});
    let rows = [
        (None, false),
        (Some(0), false),
        (Some(SETTLING - 1), false),
        (Some(SETTLING), true),
        (Some(SETTLING + 1), true),
    ];
    for (ago, expected) in rows {
        let mut world = world(&cluster, &process);
        for part in [Part::Dependents, Part::Namespace] {
            fill(&cluster, &mut world, part);
        }
        world.unreferenced_since = ago.map(|ago| world.now - ago);
        let step = next(&world);
        assert_eq!(matches!(step, Step::WriteJournal(_)), expected, "{ago:?}: {step:?}");
        let waits = Step::Wait {
            millis: SETTLING.saturating_sub(ago.unwrap_or(0)),
            waits: Waits::Settling,
        };
        assert_eq!(step == waits, !expected, "{ago:?}: {step:?}");
    }
}

/// Only Pods that the new set can adopt are expected of it.
#[test]
fn journal_has_the_orphans() {
    let (cluster, mut process) = orphaned(|cluster| {
        cluster.pods[0].terminating = true;
        cluster.pods[1].selected = false;
    });
    let decision = process.decide(&cluster, &mut Vec::new());
    let Decision::Write(Step::WriteJournal(journal)) = decision else {
        panic!("{decision:?}");
    };
    let names: Vec<&str> = journal.pods.iter().map(|pod| &*pod.name).collect();
    assert_eq!(names, ["web-2"]);
}

/// A collector that does nothing for a minute: somebody should know.
#[test]
fn collector_that_does_not_work_stalls() {
    let (mut cluster, process) = orphaned(|cluster| cluster.delete(Some("orphan")));
    for (seconds, is_stalled, pause) in [(0, false, 50), (8, false, 1_000), (59, false, 2_000), (60, true, 5_000)] {
        let mut world = world(&cluster, &process);
        world.waits_since = Some(world.now - seconds * 1000);
        let Step::Wait { millis, waits } = next(&world) else {
            panic!("{:?}", next(&world));
        };
        let (Waits::Others(fault) | Waits::Stalled(fault)) = &waits else {
            panic!("{waits:?}");
        };
        assert_eq!(
            format!("{}: {}", fault.reason, fault.message),
            "WaitsForGarbageCollector: the garbage collector has not removed the references to the old StatefulSet"
        );
        assert_eq!(matches!(waits, Waits::Stalled(_)), is_stalled, "{seconds}");
        assert_eq!(millis, pause, "{seconds}");
    }
    // It works again.
    cluster.settle();
    let run = run(&mut cluster, &mut Process::default(), |_, _, _| {});
    assert_eq!(run.ended, Ended::End(End::Nothing));
}

/// A finalizer that came between the check and the DELETE.
#[test]
fn foreign_finalizer_is_waited_for() {
    let (cluster, process) = orphaned(|cluster| {
        cluster.change(|set| {
            let finalizers = set["metadata"]["finalizers"].as_array_mut().expect("a list");
            finalizers.push("example.com/clean".into());
        });
    });
    let Step::Wait {
        waits: Waits::Others(fault),
        ..
    } = next(&world(&cluster, &process))
    else {
        panic!("{:?}", next(&world(&cluster, &process)));
    };
    assert_eq!(fault.message, "the StatefulSet has the finalizer example.com/clean");
}

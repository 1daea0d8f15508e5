//! Crashes, conflicts, and two controllers: the replacement ends in the same state.

use super::cluster::{Answer, Cluster};
use super::process::{Decision, Process, writes};
use super::words::name;
use super::{End, Ended, STEPS, dependent, run, run_alone, run_to_end, state, web};
use crate::api::ReplacementReason;
use crate::replace::notice;

type World = fn() -> Cluster;

/// The fixtures, with the state after their replacement. If PVCs depend on the set, the mark changes the spec.
const WORLDS: [(World, &str); 2] = [(web, "replaced"), (dependent, "replaced, whenDeleted Delete")];

#[test]
fn crash_before_each_step_changes_nothing() {
    for (world, expected) in WORLDS {
        for at in 0..STEPS {
            let mut cluster = world();
            let (steps, ended) = run_to_end(&mut cluster, |_, process, number| {
                if number == at {
                    *process = Process::default();
                }
            });
            assert_eq!(ended, Ended::End(End::Nothing), "{at}: {steps:?}");
            assert_eq!(state(&cluster), expected, "{at}: {steps:?}");
        }
    }
}

/// The mark changes the spec, and with it the status is outdated. A process that finds the journal of another one must
/// not take its own mark back because of that.
#[test]
fn status_outdated_by_the_mark_is_awaited() {
    let mut cluster = dependent();
    let mut is_crashed = false;
    let run = run(&mut cluster, &mut Process::default(), |cluster, process, _| {
        if cluster.is_marked() && !std::mem::replace(&mut is_crashed, true) {
            *process = Process::default();
        }
        // The StatefulSet controller is as fast as we are, but when it would help.
        if !cluster.is_marked() {
            cluster.control();
        }
    });
    assert_eq!(run.ended, Ended::End(End::Nothing), "{:?}", run.steps);
    assert_eq!(state(&cluster), "replaced, whenDeleted Delete", "{:?}", run.steps);
    assert!(writes(&run.steps).contains("Mark, Wait, Delete"), "{:?}", run.steps);
    let marks = run.steps.iter().filter(|step| *step == "Mark").count();
    assert_eq!(marks, 1, "{:?}", run.steps);
}

/// A StatefulSet controller that sees nothing for a minute: the set is as before, also who owns its fields.
#[test]
fn mark_that_is_not_seen_for_a_minute_is_undone() {
    let mut cluster = dependent();
    let managers = cluster.live().managed_fields_without("");
    let mut process = Process::default();
    let mut steps = Vec::new();
    let mut reads = Vec::new();
    let mut waited = 0;
    let end = loop {
        match process.decide(&cluster, &mut reads) {
            Decision::End(end) => break end,
            Decision::Pause(millis, _) => {
                cluster.now += millis;
                waited += millis;
            }
            Decision::Write(step) => {
                steps.push(name(&step));
                process.execute(&mut cluster, &step);
                // The results of its checks are old.
                process = if cluster.is_marked() {
                    Process::default()
                } else {
                    process
                };
            }
        }
    };
    assert!(
        matches!(&end, notice::Ended::Refused(fault) if fault.reason == ReplacementReason::StatusOutdated),
        "{end:?}"
    );
    let undone = ["Mark", "Unmark", "RestoreManagers", "DeleteJournal", "OwnReport"];
    assert_eq!(steps[2..], undone);
    assert!((60_000..120_000).contains(&waited), "{waited} ms");
    assert_eq!(state(&cluster), "as before, whenDeleted Delete");
    assert_eq!(cluster.live().managed_fields_without(""), managers);
}

/// A process keeps nothing but the time since when it has waited.
#[test]
fn crash_before_all_steps_changes_nothing() {
    let mut cluster = web();
    let run = run(&mut cluster, &mut Process::default(), |_, process, _| {
        *process = process.crashed_while_waiting();
    });
    assert_eq!(run.ended, Ended::End(End::Nothing), "{:?}", run.steps);
    assert_eq!(state(&cluster), "replaced", "{:?}", run.steps);
}

#[test]
fn conflict_at_each_write_is_answered_by_a_retry() {
    let mut conflicts = 0;
    for at in 0..STEPS {
        for writes in [1, 3] {
            let mut cluster = web();
            let mut process = Process::default();
            let (mut number, mut reads) = (0, Vec::new());
            // A write of somebody else between the decision and its execution.
            for _ in 0..at {
                let step = match process.decide(&cluster, &mut reads) {
                    Decision::End(_) => break,
                    Decision::Pause(millis, _) => {
                        number += 1;
                        cluster.now += millis;
                        cluster.settle();
                        continue;
                    }
                    Decision::Write(step) => step,
                };
                number += 1;
                if number + writes > at {
                    cluster.change(|object| object["metadata"]["labels"]["n"] = number.to_string().into());
                }
                let answer = process.execute(&mut cluster, &step);
                conflicts += u32::from(answer != Answer::Done);
            }
            let (steps, ended) = run_to_end(&mut cluster, |_, _, _| {});
            assert_eq!(ended, Ended::End(End::Nothing), "{at} {writes}: {steps:?}");
            assert_eq!(state(&cluster), "replaced", "{at} {writes}: {steps:?}");
        }
    }
    assert!(conflicts > 10, "only {conflicts} conflicts");
}

/// One controller decides a step, another one takes some steps, and then the first one executes its step.
#[test]
fn late_step_of_another_controller_does_no_harm() {
    for decided in 0..STEPS {
        for taken in 1..STEPS {
            let mut cluster = web();
            let mut late = None;
            let mut first = Process::default();
            let run = run(&mut cluster, &mut Process::default(), |cluster, process, number| {
                if number == decided {
                    first = process.clone();
                    late = Some(first.decide(cluster, &mut Vec::new()));
                }
                if let Some(Decision::Write(step)) = late.take_if(|_| number == decided + taken) {
                    first.execute(cluster, &step);
                }
            });
            let row = format!("{decided} {taken}: {:?}", run.steps);
            assert_eq!(run.ended, Ended::End(End::Nothing), "{row}");
            run_alone(&mut cluster);
            assert_eq!(state(&cluster), "replaced", "{row}");
        }
    }
}

/// Two controllers in turn, each of which has its own memory.
#[test]
fn controllers_in_turn_replace_the_set_once() {
    let mut cluster = web();
    let mut other = Process::default();
    let run = run(&mut cluster, &mut Process::default(), |_, process, _| {
        std::mem::swap(process, &mut other);
    });
    assert_eq!(run.ended, Ended::End(End::Nothing), "{:?}", run.steps);
    assert_eq!(state(&cluster), "replaced", "{:?}", run.steps);
    let creates = run.steps.iter().filter(|step| *step == "Create").count();
    assert_eq!(creates, 1, "{:?}", run.steps);
}

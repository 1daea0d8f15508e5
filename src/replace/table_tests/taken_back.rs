//! The way out: `replace --take-back` before each step, also while kube-controller-manager does not run. No Pod and no
//! PVC is deleted.

use super::process::{Process, run};
use super::{Cluster, End, Ended, dependent, state};
use crate::api::ReplacementReason as Reason;
use crate::replace::step::Fault;

/// The worlds before each step of a replacement.
fn before_each_step() -> Vec<Cluster> {
    let mut worlds = Vec::new();
    run(&mut dependent(), &mut Process::default(), |cluster, _, _| {
        worlds.push(cluster.clone());
    });
    worlds
}

/// Whether the set can still be left as it is.
fn expected(cluster: &Cluster) -> &'static str {
    match &cluster.set {
        Some(set) if set.uid() == "uid-1" && !set.terminating() => "as before, whenDeleted Delete",
        _ => "replaced, whenDeleted Delete",
    }
}

#[test]
fn replacement_is_taken_back_or_finished() {
    let worlds = before_each_step();
    assert!(worlds.len() > 15, "{}", worlds.len());
    for (at, world) in worlds.iter().enumerate() {
        let mut cluster = world.clone();
        let run = run(&mut cluster, &mut Process::taking_back(), |_, _, _| {});
        cluster.settle();
        cluster.settle();
        let row = format!("before step {at}: {:?}", run.steps);
        assert_eq!(run.ended, Ended::End(End::Nothing), "{row}");
        assert_eq!(state(&cluster), expected(world), "{row}");
    }
}

/// It stops where the garbage collector or the StatefulSet controller is needed. When they are back, nothing is deleted.
#[test]
fn taking_back_without_a_controller_manager_deletes_nothing() {
    let (mut taken_back, mut stalled) = (0, 0);
    for (at, world) in before_each_step().iter().enumerate() {
        let mut cluster = world.clone();
        cluster.is_stopped = true;
        let first = run(&mut cluster, &mut Process::taking_back(), |_, _, _| {});
        let row = format!("before step {at}: {:?}", first.steps);
        match first.ended {
            Ended::End(End::Nothing) => taken_back += 1,
            Ended::Stalled(Fault { reason, .. }) => {
                let is_of_controllers = [
                    Reason::WaitsForGarbageCollector,
                    Reason::StatusOutdated,
                    Reason::PodNotAdopted,
                ];
                assert!(is_of_controllers.contains(&reason), "{reason}: {row}");
                // The guard and the finalizer are still there, or the set is.
                assert!(cluster.set.is_some() && cluster.journal.is_some(), "{row}");
                stalled += 1;
            }
            ended => panic!("{ended:?}: {row}"),
        }
        cluster.is_stopped = false;
        cluster.settle();
        let again = run(&mut cluster, &mut Process::taking_back(), |_, _, _| {});
        cluster.settle();
        cluster.settle();
        let row = format!("{row}, then {:?}", again.steps);
        assert_eq!(again.ended, Ended::End(End::Nothing), "{row}");
        assert_eq!(state(&cluster), expected(world), "{row}");
    }
    assert!(taken_back > 3 && stalled > 3, "{taken_back} {stalled}");
}

/// Whoever takes back deletes nothing that a user is deleting either.
#[test]
fn deletion_of_a_user_is_left_alone() {
    for finalizer in [Some("foregroundDeletion"), None] {
        let mut cluster = dependent();
        let found = run(&mut cluster, &mut Process::default(), |cluster, process, _| {
            if cluster.is_marked() && cluster.guard {
                cluster.guard = false;
                cluster.user_deletes(finalizer);
                cluster.is_stopped = true;
                *process = Process::taking_back();
            }
        });
        let row = format!("{finalizer:?}: {:?}", found.steps);
        assert!(cluster.set.is_some() && cluster.is_marked(), "{row}");
        assert!(cluster.lost.is_empty(), "{row}");
    }
}

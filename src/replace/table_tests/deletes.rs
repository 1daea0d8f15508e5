//! A user deletes the set at each step.

use super::others::POLICIES;
use super::process::Process;
use super::{Cluster, STEPS, run_alone, run_to_end, state, web};
use crate::replace::world::ReportOwner;

/// What the set was when the DELETE came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    /// There was no set, or the API server denied the DELETE.
    NotDone,
    /// The set was not marked.
    Unmarked,
    /// We were replacing the set.
    OldMarked,
    /// The set was new, and not yet unmarked.
    NewMarked,
}

/// Deletes the set before step `at`.
fn delete_at(
    cluster: &mut Cluster,
    at: usize,
    guard: bool,
    crash: bool,
    finalizer: Option<&str>,
) -> (When, Vec<String>) {
    let mut when = When::NotDone;
    let (steps, _) = run_to_end(cluster, |cluster, process, number| {
        if number != at {
            return;
        }
        cluster.guard = guard;
        let (is_marked, is_old) = (cluster.is_marked(), cluster.uid() == "uid-1");
        if cluster.user_deletes(finalizer) {
            when = match (is_marked, is_old) {
                (false, _) => When::Unmarked,
                (true, true) => When::OldMarked,
                (true, false) => When::NewMarked,
            };
        }
        if crash {
            *process = Process::default();
        }
    });
    (when, steps)
}

/// With the guard, a DELETE is denied from the mark to the end. Without it, a user wins who deletes in foreground; any
/// other DELETE of the old set leaves no trace that is not also of ours, so the set is kept rather than lost.
#[test]
fn set_deleted_by_a_user_is_not_created_again() {
    let mut seen = [0; 4];
    for (policy, finalizer) in POLICIES {
        for (guard, crash) in [(true, false), (true, true), (false, false), (false, true)] {
            for at in 0..STEPS {
                let mut cluster = web();
                let (when, steps) = delete_at(&mut cluster, at, guard, crash, finalizer);
                let row = format!("{policy}, guard {guard}, crash {crash}, step {at}, {when:?}: {steps:?}");
                seen[when as usize] += 1;
                let expected = match when {
                    When::NotDone => "replaced",
                    When::OldMarked if policy != "Foreground" => "replaced",
                    When::Unmarked | When::OldMarked | When::NewMarked => "deleted",
                };
                assert!(!guard || ![When::OldMarked, When::NewMarked].contains(&when), "{row}");
                // Without the guard, a replacement that has not begun does not begin.
                let allowed = if guard || when != When::NotDone {
                    vec![expected]
                } else {
                    vec![expected, "as before"]
                };
                assert!(
                    allowed.contains(&state(&cluster).as_str()),
                    "{}: {row}",
                    state(&cluster)
                );
                if expected == "deleted" {
                    assert!(!matches!(cluster.report, ReportOwner::Set(_)), "{row}");
                    assert_eq!(run_alone(&mut cluster).steps, [""; 0], "{row}");
                    assert_eq!(cluster.set, None, "{row}");
                }
            }
        }
    }
    assert!(seen.iter().all(|count| *count > 5), "{seen:?}");
}

/// The Pods that a user deletes with the set are deleted.
#[test]
fn dependents_follow_a_deleted_set() {
    for (policy, finalizer) in POLICIES {
        let mut cluster = web();
        delete_at(&mut cluster, 0, true, false, finalizer);
        let expected = if policy == "Orphan" { 3 } else { 0 };
        assert_eq!(cluster.pods.len(), expected, "{policy}");
    }
}

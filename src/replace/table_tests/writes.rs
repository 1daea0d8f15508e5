//! Somebody else writes to the set at each step: nothing that the API server acknowledged is lost (S17).

use super::process::Process;
use super::words::{act, write};
use super::{Cluster, End, Ended, STEPS, run_to_end, state, web};
use crate::rollout::fixtures::rows;

/// A write, and the states that it may lead to.
const ROWS: &str = "
    scale up | /spec/replicas 4 | replaced
    scale down | /spec/replicas 2 | replaced, web-2 scaled down
    scale to nothing | /spec/replicas 0 | replaced, web-0 scaled down, web-1 scaled down, web-2 scaled down
    a label | /metadata/labels/tier one | replaced
    an annotation | /metadata/annotations/team red | replaced
    an image | /spec/template/spec/containers/0/image b | replaced, web-0 restarted, web-1 restarted, web-2 restarted
    PVCs that depend on the set | depends | replaced, whenDeleted Delete
    a partition | /spec/updateStrategy/rollingUpdate/partition 2 | as before, partition 2 or replaced, partition 2
    OnDelete | OnDelete | replaced
    maxUnavailable | /spec/updateStrategy/rollingUpdate/maxUnavailable 2 | replaced
    an owner that is no controller | owned | replaced
    a pause | paused | as before or replaced
    replace-set: Never | Never | as before or replaced
    another change is staged | staged \
        | as before, 1Gi and staged Some(\"3Gi\") or replaced, 2Gi and staged Some(\"3Gi\")
    the change is withdrawn | withdrawn | as before, 1Gi and staged None or replaced, 1Gi and staged None or replaced
";

/// Whether the set has what was written: writing it again changes nothing.
fn is_kept(cluster: &Cluster, what: &str) -> bool {
    let mut again = cluster.live().object().clone();
    write(&mut again, what);
    again == *cluster.live().object()
}

/// Writes before step `at`. Returns whether the API server acknowledged it.
fn write_at(cluster: &mut Cluster, at: usize, crash: bool, what: &str) -> (bool, Vec<String>) {
    let mut is_done = false;
    let (steps, ended) = run_to_end(cluster, |cluster, process, number| {
        if number == at {
            is_done = cluster.change(|set| write(set, what));
            if crash {
                *process = Process::default();
            }
        }
    });
    let is_end = matches!(ended, Ended::End(End::Nothing | End::Refused(_)));
    assert!(is_end, "{at} {ended:?}: {steps:?}");
    (is_done, steps)
}

#[test]
fn write_that_was_acknowledged_is_not_lost() {
    for [row, what, states] in rows(ROWS) {
        let states: Vec<&str> = states.split(" or ").collect();
        let mut seen = vec![false; states.len()];
        for at in 0..STEPS {
            for crash in [false, true] {
                let mut cluster = web();
                let (is_done, steps) = write_at(&mut cluster, at, crash, what);
                let found = state(&cluster);
                let path = format!("{row} before step {at}, crash {crash}: {steps:?}");
                if !is_done {
                    assert_eq!(found, "replaced", "{path}");
                    continue;
                }
                assert!(is_kept(&cluster, what), "{path}");
                let index = states.iter().position(|state| *state == found);
                let index = index.unwrap_or_else(|| panic!("{found}: {path}"));
                seen[index] = true;
            }
        }
        assert!(seen.iter().all(|seen| *seen), "{row}: {states:?} {seen:?}");
    }
}

/// The rows above whose write is stored after the API server has checked that we have the last version.
#[test]
fn write_within_the_deletion_is_not_lost() {
    for [row, what, states] in rows(ROWS) {
        // Without a crash, and with one before each step after the deletion.
        for at in 0..STEPS {
            let mut cluster = web();
            cluster.within = Some(what);
            let (steps, _) = run_to_end(&mut cluster, |cluster, process, number| {
                if cluster.within.is_none() && number == at {
                    *process = Process::default();
                }
            });
            let path = format!("{row}, crash before step {at}: {steps:?}");
            assert!(cluster.within.is_none(), "{path}");
            assert!(is_kept(&cluster, what), "{path}");
            assert!(
                states.split(" or ").any(|expected| expected == state(&cluster)),
                "{}: {path}",
                state(&cluster)
            );
            let journals = steps.iter().filter(|step| *step == "WriteJournal(Releasing)");
            assert_eq!(journals.count(), 2, "{path}");
        }
    }
}

/// An API server that does not have the event any more: the set comes back as it was read last.
#[test]
fn set_without_its_deleted_event_is_created_as_read() {
    let mut cluster = web();
    cluster.within = Some("/spec/replicas 4");
    let (steps, _) = run_to_end(&mut cluster, |cluster, _, _| cluster.last = None);
    assert_eq!(cluster.live().replicas(), 3, "{steps:?}");
    assert_eq!(state(&cluster), "replaced", "{steps:?}");
}

/// A user who deletes in the same moment wins, if the DELETE leaves a trace.
#[test]
fn foreground_delete_within_the_deletion_wins() {
    let mut cluster = web();
    cluster.within = Some("in foreground");
    let (steps, _) = run_to_end(&mut cluster, |_, _, _| {});
    assert_eq!(state(&cluster), "deleted", "{steps:?}");
    assert_eq!(steps.last().map(String::as_str), Some("DeleteJournal"), "{steps:?}");
}

/// Two writes: the second one while the first one is being answered.
#[test]
fn writes_in_a_row_are_not_lost() {
    for at in 0..STEPS {
        for between in 1..4 {
            let mut cluster = web();
            let mut written = None;
            let (steps, _) = run_to_end(&mut cluster, |cluster, _, number| {
                if [at, at + between, at + 2 * between].contains(&number)
                    && cluster.change(|set| set["metadata"]["labels"]["n"] = number.into())
                {
                    written = Some(number);
                }
            });
            let found = cluster.live().object()["metadata"]["labels"]["n"].as_u64();
            assert_eq!(found, written.map(|number| number as u64), "{at} {between}: {steps:?}");
            assert_eq!(state(&cluster), "replaced", "{at} {between}: {steps:?}");
        }
    }
}

/// What others do to other objects at each step, and the states afterwards.
const OBJECTS: &str = "
    a Pod is deleted                 | web-1 missing   | replaced
    the ClaimRollout is deleted      | no ClaimRollout | replaced or replaced, ClaimRollout of NoReport
    the ClaimRollout loses its owner | disowned        | replaced or replaced, ClaimRollout of Nobody
    the namespace is deleted         | namespace ends  | replaced or deleted
";

#[test]
fn change_of_another_object_does_no_harm() {
    for [row, change, states] in rows(OBJECTS) {
        for at in 0..STEPS {
            let mut cluster = web();
            let (steps, ended) = run_to_end(&mut cluster, |cluster, _, number| {
                if number == at {
                    act(cluster, change);
                }
            });
            let path = format!("{row} before step {at}: {steps:?}");
            assert_eq!(ended, Ended::End(End::Nothing), "{path}");
            assert!(
                states.split(" or ").any(|expected| expected == state(&cluster)),
                "{}: {path}",
                state(&cluster)
            );
        }
    }
}

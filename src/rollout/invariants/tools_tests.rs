//! S19: tools that wait for the set, and the spec that no write of ours changes.

use super::fixtures::words::{act, check_scenes};
use super::fixtures::{OwnedScene, known, rules};
use super::{s19_borrows_nothing, s19_completes, s19_reports, s19_takes_back, s19_waits};

/// The Pods of 10 and 11 are to be replaced, and the status includes that.
fn waits() -> OwnedScene {
    let mut known = known();
    act(&mut known, "status updated 1, old Pod 10 11");
    known
}

const WAITS: &str = "
    the start                                                 |                                      |
    too many count as updated                                 | status updated 3                     | S19
    too many count as updated, and some are not Ready         | status updated 3, status ready 2     |
    too many count as updated, for a previous spec            | status updated 3, old status         |
    one Pod above the partition waits                         | partition 1                          |
    one Pod above the partition waits, and is not counted     | partition 1, status updated 2        | S19
    no Pod above the partition waits                          | partition 2                          |
    a Pod below the partition is counted instead, as the tools do | partition 1, status updated 2, new Pod 10 |
    the set does not control the Pods that wait               | status updated 3, Pod of others 10 11 |
    Pods are replaced by hand                                 | status updated 3, by hand            |
";

#[test]
fn tool_done_while_pods_wait_breaks_s19() {
    check_scenes(waits, WAITS, |known| rules([s19_waits(&known.scene())]));
}

/// What a write changes.
const SPEC: &str = "
    the partition                        | partition 3       | S19
    replicas                             | replicas 2        | S19
    the update revision of Pods          | old Pod revision  | S19
    the strategy                         | by hand           | S19
    paused                               | paused            | S19
    sync                                 | LockStep          | S19
    the phase, which is not in the spec  | complete          |
    the set was created again            | set 2, replicas 2 |
    the set was deleted                  | no set            |
";

#[test]
fn write_that_changes_the_spec_breaks_s19() {
    check_scenes(known, SPEC, |after| {
        rules([s19_borrows_nothing(&known().scene(), &after.scene())])
    });
}

/// Everything is updated and ready, and the ClaimRollout is Ready.
fn complete() -> OwnedScene {
    let mut known = known();
    act(&mut known, "done 10 11 12, complete");
    known
}

const REPORTED: &str = "
    complete                          |                                        |
    the staged change cannot be read  | unreadable                             | S19
    what cannot be read is no target  | unreadable, no target                  | S19
    the phase is not Complete         | not complete                           | S19
    a claim is not ready              | small 10                               | S19
    a claim is missing                | no claim 11                            | S19
    nothing is staged                 | no target, not complete, capacity=9 10 |
    there is no set                   | no set                                 |
";

#[test]
fn report_ready_before_the_end_breaks_s19() {
    check_scenes(complete, REPORTED, |known| {
        assert_eq!(
            s19_reports(&known.scene(), false),
            Ok(()),
            "it is not reported as Ready"
        );
        rules([s19_reports(&known.scene(), true)])
    });
}

/// Replica 12 may have been scaled away since the target was staged.
const COMPLETED: &str = "
    everything is ready                               |                                                       |
    a claim is not ready                              | small 10                                              | S19
    a claim out of range is not ready                 | replicas 2, small 12                                  |
    one that was scaled away is ready                 | replicas 2, followed 3                                |
    one that was scaled away is not ready             | replicas 2, followed 3, small 12                      | S19
    one that was scaled away was not written          | replicas 2, followed 3, unlabelled 12                 | S19
    one that was scaled away is being deleted         | replicas 2, followed 3, unlabelled 12, terminating 12 |
    one that was scaled away has no volume            | replicas 2, followed 3, unlabelled 12, unbound 12     |
    one that was scaled away belongs to another owner | replicas 2, followed 3, unlabelled 12, foreign 12     |
    nothing is staged                                 | no target, capacity=9 10                              |
    there is no set                                   | no set                                                |
";

#[test]
fn phase_complete_before_the_end_breaks_s19() {
    check_scenes(complete, COMPLETED, |known| rules([s19_completes(&known.scene())]));
}

/// The claim of 11 is written.
const WRITTEN: &str = "
    complete                      |              | S19
    not complete                  | not complete |
    paused: the phase stays       | paused       |
    denied before                 | refused 11   |
    another one was denied before | refused 12   | S19
    there is no set               | no set       |
";

#[test]
fn write_while_the_phase_stays_complete_breaks_s19() {
    check_scenes(complete, WRITTEN, |known| {
        assert_eq!(s19_takes_back(&known.scene(), 11, true), Ok(()), "it is taken back");
        rules([s19_takes_back(&known.scene(), 11, false)])
    });
}

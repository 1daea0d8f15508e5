//! L1 and L5: the target is reached in the end.

use super::fixtures::words::{act, check_scenes};
use super::fixtures::{OwnedScene, known, rules};
use super::{Rule, l1_reached, l5_stops_no_other};

fn judged(known: &OwnedScene) -> Vec<Rule> {
    rules([l1_reached(&known.scene()), l5_stops_no_other(&known.scene())])
}

/// Every replica is updated and ready, and the phase is `Complete`.
fn reached() -> OwnedScene {
    let mut known = known();
    act(&mut known, "done 10 11 12, complete");
    known
}

const REACHED: &str = "
    the start                                           |                                |
    a claim is outdated                                 | at previous 10                 | L1
    a claim has no volume                               | unbound 12                     | L1
    a claim has not grown                               | small 12                       | L1
    a claim that requests less has what it requests     | request=15 12, capacity=15 12  | L1
    a claim has another class                           | not modified 12                | L1
    a claim does not exist                              | no claim 11                    | L1
    a claim of another template does not exist          | template of 20                 | L1
    a claim out of range is outdated                    | claim 13                       |
    a claim that was scaled away waits for its node \
        | not complete, replicas 2, followed 3, small 12, on the node 12 |
    the phase is not Complete, and no claim that was scaled away waits | not complete, replicas 2, followed 3 | L1
    a Pod is not replaced                               | old Pod 11                     | L1
    a Pod is not Ready for long enough                  | not available 11               | L1
    a Pod does not exist                                | no Pod 11                      | L1
    the phase is not Complete                           | not complete                   | L1
    the phase is not Complete, with a partition         | not complete, partition 1      |
    a claim below the partition is outdated             | at previous 10, partition 1    |
    a claim above the partition has not grown           | partition 2, small 12          | L1
    the set is being deleted                            | at previous 10, deleted set    |
    there is no set                                     | at previous 10, no set         |
    there is no target                                  | at previous 10, no target      |
    the rollout is paused                               | at previous 10, paused         |
    Pods are replaced by hand                           | at previous 10, by hand        |
";

#[test]
fn target_not_reached_breaks_l1() {
    check_scenes(reached, REACHED, judged);
}

/// The highest replica is stuck with `Parallel`, and the others are done. This breaks L1 and not L5.
fn stuck() -> OwnedScene {
    let mut known = reached();
    act(&mut known, "behind 12, stuck 12, Parallel, not complete");
    known
}

const STUCK: &str = "
    only the stuck claim is outdated                            |                                           | L1
    a lower claim was not written                               | at previous 10                            | L1 L5
    a lower claim waits for one in motion                       | at previous 10, small 11                  | L1
    a lower claim waits for one that is stuck in motion         | at previous 10, small 11, stuck 11        | L1 L5
    a lower claim waits for one without a volume                | at previous 10, unlabelled 11, unbound 11 | L1 L5
    a lower claim waits for one that is being deleted       | at previous 10, unlabelled 11, terminating 11 | L1 L5
    the lower claim has no volume                               | at previous 10, unbound 10                | L1
    the lower claim is stuck as well                            | at previous 10, stuck 10                  | L1
    the lower claim is foreign                                  | at previous 10, foreign 10                | L1
    a foreign Pod mounts the lower claim                        | at previous 10, mounted 10                | L1
    another set has a claim of the same name                    | at previous 10, ambiguous 10              | L1
    the lower claim is below the partition                      | at previous 10, partition 1               | L1
    a lower claim above the partition                           | unlabelled 11, partition 1                | L1 L5
    without Parallel, the stuck replica stops the others        | at previous 10, OrderedReady              | L1
    the rollout is complete, and its claims are not watched     | at previous 10, complete                  | L1
    a Pod is to be replaced, and may be | at previous 10, LockStep, old Pod 11, not stuck 12, done 12       | L1
    the stuck claim keeps the Pod above, so no Pod is replaced  | at previous 10, LockStep, old Pod 12 11   | L1 L5
    the rollout is paused                                       | at previous 10, paused                    |
    Pods are replaced by hand                                   | at previous 10, by hand                   |
    the set is being deleted                                    | at previous 10, deleted set               |
    there is no target                                          | at previous 10, no target                 |
";

#[test]
fn claim_waiting_for_a_stuck_one_breaks_l5() {
    check_scenes(stuck, STUCK, judged);
}

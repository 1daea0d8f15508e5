//! S6: the turn of a replica, as the decision saw it.

use super::Rule;
use super::fixtures::words::{act, check_scenes};
use super::fixtures::{OwnedScene, known, rules};
use super::s6_in_turn;

/// Replica 12 is done, and 11 is next.
fn next_is_11() -> OwnedScene {
    let mut known = known();
    known.done(12);
    known
}

/// Pods are to be replaced as well; the Pod of 12 was.
fn with_pods() -> OwnedScene {
    let mut known = next_is_11();
    act(&mut known, "LockStep, old Pod 10 11");
    known
}

fn judged(known: &OwnedScene) -> Vec<Rule> {
    rules([s6_in_turn(&known.scene(), 11)])
}

const CLAIMS: &str = "
    the start                                        |                                     |
    there is no target                               | no target                           | S6
    the rollout is paused                            | paused                              | S6
    it is out of range                               | replicas 1                          | S6
    it is below the partition                        | partition 2                         | S6
    it is the first above the partition              | partition 1                         |
    Pods are replaced by hand, in any order          | by hand, no target                  |
    the one above was not written                    | behind 12                           | S6
    the one above is in motion                       | moves 12                            | S6
    the one below is in motion                       | moves 10                            | S6
    the one below the partition is in motion         | moves 10, partition 1               |
    all three are in motion                          | moves 10 11 12                      |
    the one above waits for its node                 | moves 12, on the node 12            | S6
    the one above waits for its node, and has no Pod | moves 12, on the node 12, no Pod 12 |
    the one above has no volume                      | unbound 12                          | S6
    the one above is being deleted                   | terminating 12, small 12            |
    the one above is stuck                           | stuck 12, small 12                  | S6
    with Parallel, the one above is stuck            | stuck 12, small 12, Parallel        |
    with Parallel, the one above is foreign          | behind 12, foreign 12, Parallel     |
    the one above is in motion, and two may be       | moves 12, at a time 2               |
    both others are in motion, and two may be        | moves 12 10, at a time 2            | S6
    the one above is stuck, and two may be in motion | stuck 12, small 12, at a time 2     | S6
";

#[test]
fn replica_written_before_a_higher_one_breaks_s6() {
    check_scenes(next_is_11, CLAIMS, judged);
}

const UNREADY: &str = "
    it is not Ready, so that it comes first                    | behind 12, unready 11                   |
    the one above is not Ready either                          | behind 12, unready 12 11                | S6
    the one above waits for its node, and perhaps for this one | moves 12, on the node 12, unready 12 11 |
    the one above waits for its node, and this one is Ready    | moves 12, on the node 12, unready 12    | S6
    the one below is not Ready, and comes first                | unready 10                              | S6
    the one below is not Ready, and is done                    | unready 10, done 10                     |
    the one below is not Ready, and is below the partition     | unready 10, partition 1                 |
    it is not Ready, and another is in motion                  | moves 12, unready 11                    | S6
";

#[test]
fn replica_before_an_unready_one_breaks_s6() {
    check_scenes(next_is_11, UNREADY, judged);
}

const PODS: &str = "
    the start                                        |                                          |
    the Pod above was not replaced                   | old Pod 12                               | S6
    the Pod above is not available                   | not available 12                         | S6
    there is no Pod above                            | no Pod 12                                | S6
    the status is of a previous spec                 | old status                               | S6
    sync is Async                                    | old Pod 12, Async                        |
    no Pod is to be replaced                         | not available 12, new Pod 10 11          |
    the Pod of this one is not Ready                 | old Pod 12, unready 11                   |
    with Parallel, a stuck claim keeps the Pod above | old Pod 12, stuck 12, small 12, Parallel |
";

#[test]
fn replica_before_the_pod_above_breaks_s6() {
    check_scenes(with_pods, PODS, judged);
}

/// Replicas 11 and 12 were scaled away since the target was staged; 10 is done, and 12.
fn scaled_away() -> OwnedScene {
    let mut known = known();
    act(&mut known, "replicas 1, followed 3, no Pod 11 12, done 10 12");
    known
}

const AWAY: &str = "
    the start                              |                          |
    it was scaled away before              | followed 2               |
    it is not followed                     | followed 1               | S6
    it is below the partition              | partition 2              | S6
    the one in range was not written       | behind 10                | S6
    the one in range is in motion          | moves 10                 | S6
    the one above was not written          | behind 12                | S6
    the one above is in motion             | moves 12                 | S6
    the one above waits for its node       | moves 12, on the node 12 |
    the one above has no volume            | behind 12, unbound 12    |
    the one above belongs to another owner | behind 12, foreign 12    |
    the Pod in range is to be replaced     | LockStep, old Pod 10     | S6
";

#[test]
fn replica_scaled_away_comes_last() {
    check_scenes(scaled_away, AWAY, judged);
}

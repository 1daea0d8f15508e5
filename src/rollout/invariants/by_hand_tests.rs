//! S6 and L1 for Pods that are deleted by hand.

use super::fixtures::words::{act, check_scenes, check_table};
use super::fixtures::{OwnedScene, Trace, known, rules};
use super::l1_follows_hand;

/// Somebody deletes the Pod of replica 11 by hand, and no other.
fn by_hand() -> Trace {
    let mut trace = Trace::of_apply(11);
    act(&mut trace.before, "by hand, no Pod 11");
    trace
}

const BY_HAND: &str = "
    its Pod is being deleted                                | Pod 11, going 11                                     |
    its Pod exists                                          | Pod 11                                               | S6
    its Pod did not exist once, at the previous target      | once: previous target; Pod 11                        |
    Pods were replaced in order when this target came first | once:; once: previous target; once: in order; Pod 11 |
    Pods were replaced in order at the previous target      | Pod 11; once: previous target, in order              | S6
    the partition does not matter                           | partition 2                                          |
    Pods were replaced by hand once                         | once:; in order                                      |
    Pods were replaced by hand at the previous target       | once: previous target; in order                      | S6
";

#[test]
fn replica_before_its_pod_is_deleted_breaks_s6() {
    check_table(by_hand, BY_HAND);
}

/// Somebody has deleted the Pod of replica 11 after the target was staged, and its claim is still outdated.
fn deleted() -> OwnedScene {
    let mut known = known();
    act(&mut known, "by hand, after staging 11");
    known
}

const LEFT: &str = "
    the claim waits            |                             | L1
    the Pod does not exist     | no Pod 11                   | L1
    the Pod is being deleted   | before staging 11, going 11 | L1
    nobody has deleted the Pod | before staging 11           |
    the claim is updated       | at target 11                |
    the claim is stuck         | stuck 11                    |
    the claim is foreign       | foreign 11                  |
    the claim is out of range  | replicas 1                  |
    the rollout is paused      | paused                      |
    the rollout is complete    | complete                    |
    the set is being deleted   | deleted set                 |
    there is no target         | no target                   |
    Pods are replaced in order | in order                    |
";

#[test]
fn claim_left_after_its_pod_was_deleted_breaks_l1() {
    check_scenes(deleted, LEFT, |known| rules([l1_follows_hand(&known.scene())]));
}

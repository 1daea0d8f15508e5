//! S7: what Pods wait for.

use super::Rule::{self, S7};
use super::fixtures::words::act;
use super::fixtures::{OLD_PODS, OwnedScene, TARGET, claim, known, rules, wanted};
use super::{s7_gate, s7_keeps_no_other};
use crate::rollout::fixtures::rows;

/// The Pod of replica 12 is to be replaced, and its claim was not written.
fn waits_at_gate() -> OwnedScene {
    let mut known = known();
    known.set().lock_step = true;
    for ordinal in [10, 11, 12] {
        known.pod(ordinal).revision = OLD_PODS;
    }
    known
}

/// A change, and whether the Pod may be deleted then.
const ROWS: &str = "
    its claim was not written                              |                                           | waits
    its claim is ready                                     | done 12                                   | goes
    the claim of another replica is ready                  | done 11                                   | waits
    its claim is at the previous target                    | done 12, at previous 12                   | waits
    its claim has not grown                                | moves 12                                  | waits
    only the file system is left, perhaps for the next Pod | moves 12, on the node 12                  | goes
    the file system is left, and the class is not modified | moves 12, on the node 12, not modified 12 | waits
    the node has work to do for the previous target        | on the node 12, at previous 12            | waits
    its claim is stuck                                     | moves 12, stuck 12                        | waits
    its claim has no volume                                | unbound 12                                | goes
    its claim is being deleted                             | terminating 12                            | goes
    it has no claim                                        | no claim 12                               | goes
    the rollout is paused                                  | done 12, paused                           | waits
    the replica is out of range                            | replicas 2                                | goes
    the replica is below the partition                     | partition 3                               | goes
    the replica is the first above the partition           | partition 2                               | waits
    the Pod is being deleted                               | going 12                                  | goes
    the Pod has ended                                      | ended 12                                  | goes
    the Pod is about to be evicted                         | disrupted 12                              | goes
    the set does not control the Pod                       | Pod of others 12                          | goes
    the Pod is not Ready                                   | not Ready 12                              | waits
    the Pod is updated                                     | new Pod 12                                | waits
    there is no target                                     | no target                                 | goes
    sync is Async                                          | Async                                     | goes
    the rollout is complete                                | complete                                  | goes
    the set is being deleted                               | deleted set                               | goes
    there is no set                                        | no set                                    | goes
";

#[test]
fn pod_deleted_early_or_kept_for_no_reason_breaks_s7() {
    let judged = |known: &OwnedScene| {
        let scene = known.scene();
        [rules([s7_gate(&scene, 12)]), rules([s7_keeps_no_other(&scene, 12)])]
    };
    let (goes, waits): ([&[Rule]; 2], [&[Rule]; 2]) = ([&[], &[S7]], [&[S7], &[]]);
    for [row, change, expected] in rows(ROWS) {
        let mut known = waits_at_gate();
        act(&mut known, change);
        assert_eq!(judged(&known), if expected == "goes" { goes } else { waits }, "{row}");
    }
    // Two claims, and the second one is ready or not.
    for (size, revision, expected) in [(20, None, waits), (10, Some(TARGET), goes)] {
        let mut known = waits_at_gate();
        known.done(12);
        known.wanted.push(wanted(size));
        known.claims.push(claim(1, 12));
        known.claims[3].revision = revision;
        assert_eq!(judged(&known), expected, "{revision:?}");
    }
}

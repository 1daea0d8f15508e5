//! S6: the order of the rollout.

use super::fixtures::Trace;
use super::fixtures::words::check_table;

/// Replica 12 is done, and 11 is next.
pub(super) fn grow_the_next() -> Trace {
    let mut trace = Trace::of_apply(11);
    trace.before.done(12);
    trace
}

const ORDER: &str = "
    the one above was not written                           | behind 12                                        | S6
    the write was decided for a deleted set                 | behind 12; request for another set               |
    the one above is not ready                              | small 12                                         | S6
    it was ready once                                       | once:; small 12                                  |
    it was ready at the previous target                     | once: previous target, at previous 12; behind 12 | S6
    it was ready when this target came first                | once:; once: previous target; behind 12          |
    it was ready in the previous set with the same target   | once: set 2; once: no target; behind 12          |
    it was ready in the previous set with another target    | once: set 2, previous target; behind 12          | S6
    one of its claims was not written                       | two templates                                    | S6
    the write was decided for the previous target           | once: previous target; behind 12; revision 6     |
    there is no claim above                                 | no claim 12                                      |
    there was no claim above at the previous target         | once: previous target, no claim 12; behind 12    |
    the one above was out of range                          | once: replicas 2; behind 12                      |
    the one above is being deleted                          | behind 12, terminating 12                        |
    the one above has no volume                             | behind 12, unbound 12                            | S6
    the one above has neither a volume nor a Pod            | behind 12, unbound 12, no Pod 12                 |
    the one above has no volume, and had no Pod at the previous target \
        | behind 12; once: no Pod 12, previous target; unbound 12 |
    the one above waits for the node                        | small 12, on the node 12                         | S6
    the one above waits for the node, and has no Pod        | small 12, on the node 12, no Pod 12              |
    the one above waits for the node, and its Pod is being deleted | small 12, on the node 12, going 12 |
    the one above has no Pod, and does not need one         | behind 12, no Pod 12                             | S6
    the one above is stuck                                  | behind 12, stuck 12                              | S6
    Parallel has the same order                             | behind 12, Parallel                              | S6
    with Parallel, a stuck claim stops no other             | behind 12, Parallel, stuck 12                    |
    with Parallel, a foreign claim stops no other           | behind 12, Parallel, foreign 12                  |
    with Parallel, a claim without a volume stops no other  | behind 12, Parallel, unbound 12                  |
    with Parallel, the one above was foreign at the previous target \
        | behind 12, Parallel; once: foreign 12, previous target |
    with Parallel, a foreign Pod mounts the one above       | behind 12, Parallel, mounted 12                  |
    with Parallel, another set has a claim of the same name | behind 12, Parallel, ambiguous 12                |
";

#[test]
fn replica_before_its_turn_breaks_s6() {
    check_table(grow_the_next, ORDER);
}

const PARTITIONS: &str = "
    it is below the partition                              | partition 2                                    | S6
    it is the first above the partition                    | partition 1                                    |
    it was above the partition at this target              | once: partition 1; partition 2                 |
    it was above the partition at the previous target      | once: previous target; partition 2             | S6
    it was above the partition when this target came first | once:; once: previous target; partition 2      |
    the write was decided for the previous target          | once: previous target; partition 2; revision 6 |
";

#[test]
fn replica_below_the_partition_breaks_s6() {
    check_table(grow_the_next, PARTITIONS);
}

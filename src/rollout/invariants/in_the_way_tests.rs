//! S6: a replica whose Pod is not Ready need not wait for higher ordinals.

use super::fixtures::words::check_table;
use super::order_tests::grow_the_next;

/// Replica 12 is outdated, and the Pod of 11 is not Ready.
const UNREADY: &str = "
    its disk may be full                     | behind 12, unready 11                                   |
    it was not Ready, at the previous target | once: behind 12, unready 11, previous target; behind 12 |
    it is Ready, and another is not          | behind 12, unready 11, Ready 11, not Ready 10           | S6
    it is Ready, and not for long enough     | behind 12, unready 11, Ready 11                         | S6
    it is being deleted                      | behind 12, unready 11, going 11                         | S6
    there is no Pod                          | behind 12, unready 11, no Pod 11                        | S6
    it is Ready, and to be replaced          | behind 12, old Pod 11                                   | S6
    it is below the partition                | behind 12, unready 11, partition 2                      | S6
";

#[test]
fn replica_with_unready_pod_comes_first() {
    check_table(grow_the_next, UNREADY);
}

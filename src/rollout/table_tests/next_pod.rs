//! The Pod that the StatefulSet controller replaces next, and claims that do not wait for it.

use super::check;

const NOT_READY: &str = "
    one waits for its node, and perhaps for the other: the full disk grows   | node pending 2, unready 2 0 | grow 0
    one waits for a volume, and perhaps for the other                        | unbound 2, unready 2 0      | grow 0
    the storage works on one                                                 | expanding 2, unready 2 0    |
    Ready replicas wait for the node of one that is not, even of a lower one | node pending 0, unready 0   |
";

#[test]
fn unready_pods_do_not_wait_for_each_other() {
    check(NOT_READY);
}

/// No Pod has been replaced. In many rows, the claim of the highest is ready, and the annotation names it; in others, the
/// claim of the lowest is ready as well, and its Pod is not Ready.
const READY: &str = "
    the next claim is ready as well, and its Pod is replaced later | done 2, old 2 1 0, named 2, done 1 |
    one is not Ready, with Parallel before 1.37 | done 2, old 2 1 0, named 2, done 0, unready 0, Parallel |
    one is not Ready, and is replaced first since 1.37 \
        | done 2, old 2 1 0, named 2, done 0, unready 0, Parallel, MaxUnavailable | nudge 0
    one is not available, and is replaced first since 1.37 \
        | done 2, old 2 1 0, named 2, done 0, Parallel, MaxUnavailable, min ready 60, Pod ready since 0 990, Pod \
            ready since 1 100, Pod ready since 2 100 | nudge 0
    with OrderedReady none is replaced until all are Ready \
        | done 2, old 2 1 0, named 2, done 0, unready 0, MaxUnavailable |
    its claim is outdated again, with an outdated status | done 2, old 2 1 0, named 2, outdated status, unlabelled 2 \
        | grow 2, nudge none
    a claim without a volume never kept its Pod | old 2 1 0, unbound 2 |
    a claim that is being deleted may have kept its Pod | old 2 1 0, terminating 2 | nudge 2
";

#[test]
fn ready_names_the_pod_that_is_replaced_next() {
    check(READY);
}

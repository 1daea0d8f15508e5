//! A replica that the one above waits for need not wait for that one (S6).

use super::Rule::S6;
use super::fixtures::{EARLIER, History, Known, OLD_PODS, Row, check};
use super::order_tests::{behind, grow_the_next};

/// The Pod above is to be replaced, and this one is not Ready.
fn in_the_way(known: &mut Known) {
    behind(known);
    known.pod(12).revision = OLD_PODS;
    known.pod(11).ready = false;
}

/// Pods are to run what the one above runs, and were to run something else.
fn pods_went_back(it: &mut History) {
    in_the_way(&mut it.before);
    it.before.pod(12).revision = it.before.set().pod_revision;
    it.once(|then| then.set().pod_revision = OLD_PODS);
}

const IN_THE_WAY: &[Row] = &[
    (
        "Kubernetes replaces no Pod while a lower one is not Ready",
        |it| in_the_way(&mut it.before),
        &[],
    ),
    (
        "which this one was not, whatever was wished then",
        |it| {
            it.once(|then| {
                in_the_way(then);
                then.set().wish = Some(EARLIER);
            });
            behind(&mut it.before);
        },
        &[],
    ),
    (
        "each at another time, because two views may be of two times",
        |it| {
            behind(&mut it.before);
            it.once(|then| then.pod(11).ready = false);
            it.once(|then| then.without_pod(12));
        },
        &[],
    ),
    (
        "the one above was to be replaced before Pods went back to what they ran",
        pods_went_back,
        &[S6],
    ),
    (
        "for which it was decided",
        |it| {
            pods_went_back(it);
            it.request.pods = Some(OLD_PODS);
        },
        &[],
    ),
    (
        "or may have been decided",
        |it| {
            pods_went_back(it);
            it.request.pods = None;
        },
        &[],
    ),
    (
        "the one above is not there yet",
        |it| {
            in_the_way(&mut it.before);
            it.before.without_pod(12);
        },
        &[],
    ),
    (
        "the one above is on its way out",
        |it| {
            in_the_way(&mut it.before);
            it.before.pod(12).revision = it.before.set().pod_revision;
            it.before.pod(12).going = true;
        },
        &[],
    ),
    (
        "the one above was replaced",
        |it| {
            in_the_way(&mut it.before);
            it.before.pod(12).revision = it.before.set().pod_revision;
        },
        &[S6],
    ),
    (
        "this one is Ready, and another is not",
        |it| {
            in_the_way(&mut it.before);
            it.before.pod(11).ready = true;
            it.before.pod(10).ready = false;
        },
        &[S6],
    ),
    (
        "it is this one that is to be replaced",
        |it| {
            in_the_way(&mut it.before);
            it.before.pod(12).revision = it.before.set().pod_revision;
            it.before.pod(11).revision = OLD_PODS;
        },
        &[S6],
    ),
    (
        "with Parallel it does not wait",
        |it| {
            in_the_way(&mut it.before);
            it.before.set().parallel = true;
        },
        &[S6],
    ),
];

#[test]
fn s6_is_not_broken_by_a_replica_that_the_one_above_waits_for() {
    check(grow_the_next, IN_THE_WAY);
}

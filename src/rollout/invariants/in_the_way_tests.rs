//! S6: a replica whose Pod is not Ready need not wait for higher ordinals.

use super::Rule::S6;
use super::fixtures::{OLD_PODS, OwnedScene, PREVIOUS, Row, check};
use super::order_tests::{behind, grow_the_next};

/// Replica 12 is outdated, and the Pod of 11 is not Ready.
fn unready(known: &mut OwnedScene) {
    behind(known);
    let pod = known.pod(11);
    (pod.ready, pod.available) = (false, false);
}

const UNREADY: &[Row] = &[
    ("its disk may be full", |it| unready(&mut it.before), &[]),
    (
        "it was not Ready, at the previous target",
        |it| {
            it.once(|then| {
                unready(then);
                then.set().target = Some(PREVIOUS);
            });
            behind(&mut it.before);
        },
        &[],
    ),
    (
        "it is Ready, and another is not",
        |it| {
            unready(&mut it.before);
            it.before.pod(11).ready = true;
            it.before.pod(10).ready = false;
        },
        &[S6],
    ),
    (
        "it is Ready, and not for long enough",
        |it| {
            unready(&mut it.before);
            it.before.pod(11).ready = true;
        },
        &[S6],
    ),
    (
        "it is being deleted",
        |it| {
            unready(&mut it.before);
            it.before.pod(11).going = true;
        },
        &[S6],
    ),
    (
        "there is no Pod",
        |it| {
            unready(&mut it.before);
            it.before.without_pod(11);
        },
        &[S6],
    ),
    (
        "it is Ready, and to be replaced",
        |it| {
            behind(&mut it.before);
            it.before.pod(11).revision = OLD_PODS;
        },
        &[S6],
    ),
    (
        "it is below the partition",
        |it| {
            unready(&mut it.before);
            it.before.set().partition = 2;
        },
        &[S6],
    ),
];

#[test]
fn replica_with_unready_pod_comes_first() {
    check(grow_the_next, UNREADY);
}

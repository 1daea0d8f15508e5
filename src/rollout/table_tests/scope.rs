//! Which claims are in scope: ordinals, partitions and ownership.

use super::{Row, all_done, check, middle, middle_of_pods, old_pods};
use crate::gate::PodManagement;
use crate::json::Map;
use crate::rollout::snapshot::{Sibling, Snapshot};

/// The first ordinal is 5.
fn from_five(web: &mut Snapshot) {
    web.set.first_ordinal = 5;
    for ordinal in [5, 6, 7] {
        web.add_claim("data", ordinal);
        web.add_pod(ordinal);
    }
}

const PARTITIONS: &[Row] = &[
    ("ordinals start at spec.ordinals.start", from_five, "grow 7"),
    (
        "a partition counts replicas, not ordinals",
        |web| {
            from_five(web);
            web.set.partition = 2;
            web.done("data-web-7");
        },
        "",
    ),
    (
        "a Pod is named by its ordinal",
        |web| {
            from_five(web);
            old_pods(web, &[7, 6, 5]);
            web.done("data-web-7");
        },
        "nudge 7",
    ),
    (
        "the user lowers the partition",
        |web| {
            middle(web);
            web.set.partition = 1;
        },
        "grow 1",
    ),
    ("a partition above all replicas", |web| web.set.partition = 7, ""),
    (
        "a canary stops at the partition",
        |web| {
            middle_of_pods(web);
            web.set.partition = 2;
        },
        "",
    ),
    (
        "with a partition the rollout is never complete",
        |web| {
            all_done(web);
            web.set.partition = 1;
        },
        "",
    ),
];

#[test]
fn replicas_below_the_partition_are_left_alone() {
    check(PARTITIONS);
}

const OWNERS: &[Row] = &[
    (
        "a selector without matchLabels requires no label",
        |web| {
            web.set.match_labels = Map::new();
            web.claim("data-web-2").labels = Map::new();
        },
        "grow 2",
    ),
    (
        "an ambiguous claim stops the rest",
        |web| ambiguous(web, PodManagement::OrderedReady),
        "ClaimForeign, ClaimForeign, ClaimForeign",
    ),
    (
        "with Parallel, all claims are ambiguous",
        |web| ambiguous(web, PodManagement::Parallel),
        "ClaimForeign, ClaimForeign, ClaimForeign",
    ),
    (
        "with Parallel, a foreign claim stops no other",
        |web| {
            web.take_over("data-web-2");
            web.set.pod_management = PodManagement::Parallel;
        },
        "grow 1, ClaimForeign",
    ),
    (
        "a set that is being deleted is left alone",
        |web| web.set.terminating = true,
        "",
    ),
];

#[test]
fn claims_not_of_the_set_are_left_alone() {
    check(OWNERS);
}

fn ambiguous(web: &mut Snapshot, pod_management: PodManagement) {
    web.set.name = "a-web".to_owned();
    web.set.pod_management = pod_management;
    for (_, mut claim) in std::mem::take(&mut web.claims) {
        claim.name = claim.name.replace("data-", "data-a-");
        web.claims.insert(claim.name.clone(), claim);
    }
    web.siblings.push(Sibling {
        set: "web".to_owned(),
        templates: vec!["data-a".to_owned()],
    });
}

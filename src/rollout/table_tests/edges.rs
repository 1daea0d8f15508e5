//! Partitions, Pods, and whose claims: what is done, and nothing else.

use super::{Row, all_done, check, done, middle, middle_of_pods, old_pods, unready};
use crate::json::Map;
use crate::rollout::fixtures::{refused, web};
use crate::rollout::snapshot::{PodManagement, Resize, Sibling, Snapshot, Strategy};
use crate::templates::{Phase, Ready, Revision, Sync};

/// Ordinals begin with five.
fn from_five(web: &mut Snapshot) {
    web.set.first_ordinal = 5;
    for ordinal in [5, 6, 7] {
        web.add_claim("data", ordinal);
        web.add_pod(ordinal);
    }
}

const PARTITIONS: &[Row] = &[
    ("ordinals begin where the set says", from_five, "grow 7"),
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
        "a Pod is asked for by its ordinal",
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
    (
        "a partition above all replicas keeps them all",
        |web| web.set.partition = 7,
        "",
    ),
    (
        "a canary is over at the partition, and waits for its user",
        |web| {
            middle_of_pods(web);
            web.set.partition = 2;
        },
        "",
    ),
    (
        "with a partition it never says complete",
        |web| {
            all_done(web);
            web.set.partition = 1;
        },
        "",
    ),
];

#[test]
fn partitions_and_ordinals() {
    check(PARTITIONS);
}

const PODS: &[Row] = &[
    (
        "a Pod that does not become Ready keeps the next replica waiting",
        |web| {
            middle_of_pods(web);
            unready(web, 2);
        },
        "",
    ),
    (
        "the claim of a Pod that is not Ready comes first, because its disk may be full",
        |web| {
            middle_of_pods(web);
            old_pods(web, &[2]);
            unready(web, 0);
        },
        "grow 0, nudge 2",
    ),
    (
        "whatever is known of the Pods' revisions: the last change of the set is not in its status yet",
        |web| {
            middle_of_pods(web);
            web.set.status_is_current = false;
            unready(web, 0);
        },
        "grow 0",
    ),
    (
        "and where a higher one is made",
        |web| {
            middle_of_pods(web);
            web.pods.remove("web-2");
            unready(web, 0);
        },
        "grow 0",
    ),
    (
        "until that, the claims of all others wait: their Pods may be about to change",
        |web| {
            middle(web);
            web.set.status_is_current = false;
        },
        "",
    ),
    (
        "and when that one is Ready again, the order is as it was",
        |web| {
            middle_of_pods(web);
            old_pods(web, &[2]);
            web.done("data-web-0");
        },
        "nudge 2",
    ),
    (
        "unless its claim is below the partition",
        |web| {
            middle_of_pods(web);
            web.set.partition = 1;
            unready(web, 0);
        },
        "grow 1",
    ),
    (
        "with Parallel too",
        |web| {
            middle_of_pods(web);
            web.set.pod_management = PodManagement::Parallel;
            unready(web, 0);
        },
        "grow 0",
    ),
    (
        "what has begun is finished before it",
        |web| {
            web.applied("data-web-2");
            unready(web, 0);
        },
        "",
    ),
    (
        "unless only the node is left to do something, which may wait for a Pod",
        |web| {
            web.applied("data-web-2").resize = Some(Resize::NodePending);
            unready(web, 0);
        },
        "grow 0",
    ),
    (
        "where only claims change no Pod is waited for",
        |web| {
            middle(web);
            unready(web, 2);
        },
        "grow 1",
    ),
    (
        "it has to be Ready for as long as the set says",
        |web| {
            middle_of_pods(web);
            web.set.min_ready_seconds = 200;
        },
        "",
    ),
    (
        "but not where only claims change",
        |web| {
            middle(web);
            web.set.min_ready_seconds = 200;
        },
        "grow 1",
    ),
    (
        "a Pod that is going is not Ready, whatever it says",
        |web| {
            middle_of_pods(web);
            let pod = web.pods.get_mut("web-2").unwrap();
            (pod.deleted, pod.ready_since) = (Some(1030), None);
        },
        "",
    ),
    (
        "a Pod that is going does not keep its claim's turn: nobody finishes that file system now",
        |web| {
            web.applied("data-web-2").file_system_resize_pending = Some(String::new());
            web.pods.get_mut("web-2").unwrap().deleted = Some(1030);
        },
        "grow 1",
    ),
    (
        "it is paused in the middle",
        |web| {
            middle_of_pods(web);
            web.set.paused = true;
        },
        "",
    ),
    (
        "it is complete, although Pods are still to be replaced: the gate is open",
        |web| {
            all_done(web);
            old_pods(web, &[0]);
            web.phase(Phase::Complete);
        },
        "ClaimRolloutComplete",
    ),
    (
        "with Parallel the claims below a stuck one go on, and no Pod is waited for",
        |web| {
            old_pods(web, &[2, 1, 0]);
            web.set.pod_management = PodManagement::Parallel;
            refused(web, 1000);
            web.done("data-web-1");
        },
        "grow 0, FailedToPatchPVC",
    ),
    (
        "one after the other",
        |web| {
            old_pods(web, &[2, 1, 0]);
            web.set.pod_management = PodManagement::Parallel;
            refused(web, 1000);
            web.applied("data-web-1");
        },
        "FailedToPatchPVC",
    ),
];

#[test]
fn pods() {
    check(PODS);
}

/// The highest claim is ready, and all Pods are to be replaced.
fn waiting(web: &mut Snapshot) {
    middle(web);
    old_pods(web, &[2, 1, 0]);
}

fn named(web: &mut Snapshot, revision: Revision, ordinal: u32) {
    web.set.ready = Some(Ready { revision, ordinal });
}

const NUDGES: &[Row] = &[
    ("a Pod waited, and its claims are ready", waiting, "nudge 2"),
    (
        "it was asked for",
        |web| {
            waiting(web);
            named(web, web.target(), 2);
        },
        "",
    ),
    (
        "it was asked for in an earlier rollout",
        |web| {
            waiting(web);
            named(web, Revision::from_text("another"), 2);
        },
        "nudge 2",
    ),
    (
        "its claims are not ready any more: it will have to be asked for again",
        |web| {
            old_pods(web, &[2, 1, 0]);
            named(web, web.target(), 2);
        },
        "grow 2, nudge nobody",
    ),
    (
        "it was replaced: what is named does not matter any more",
        |web| {
            middle_of_pods(web);
            named(web, web.target(), 2);
        },
        "grow 1",
    ),
    (
        "only the node has something to do, perhaps when a Pod mounts the volume",
        |web| {
            old_pods(web, &[2, 1, 0]);
            web.applied("data-web-2").resize = Some(Resize::NodePending);
        },
        "nudge 2",
    ),
    (
        "Pods do not wait for claims",
        |web| {
            waiting(web);
            web.set.sync = Sync::Async;
        },
        "grow 1",
    ),
    (
        "paused: the gate is closed",
        |web| {
            waiting(web);
            web.set.paused = true;
        },
        "",
    ),
    (
        "below the partition nobody is asked for",
        |web| {
            waiting(web);
            web.set.partition = 3;
        },
        "",
    ),
    (
        "with Parallel the StatefulSet controller asks first for those that are not Ready, since 1.37",
        |web| {
            old_pods(web, &[2, 1, 0]);
            web.set.pod_management = PodManagement::Parallel;
            web.set.max_unavailable = true;
            unready(web, 0);
            web.done("data-web-0");
        },
        "grow 2, nudge 0",
    ),
    (
        "without it asks for none while one is not Ready",
        |web| {
            old_pods(web, &[2, 1, 0]);
            unready(web, 0);
            web.done("data-web-0");
        },
        "grow 2",
    ),
    (
        "the last claim: that it is complete is seen as well as a nudge",
        |web| {
            all_done(web);
            old_pods(web, &[0]);
        },
        "complete",
    ),
];

#[test]
fn nudges() {
    check(NUDGES);
}

const RECREATE: &[Row] = &[
    ("one claim after the other, and no Pod is waited for", waiting, "grow 1"),
    (
        "one that needs a Pod does not keep the next one waiting",
        |web| {
            waiting(web);
            web.applied("data-web-1").resize = Some(Resize::NodePending);
        },
        "grow 0",
    ),
    (
        "all may go",
        |web| {
            waiting(web);
            web.done("data-web-0");
            web.applied("data-web-1").resize = Some(Resize::NodePending);
        },
        "nudge 0",
    ),
    (
        "not all any more",
        |web| {
            waiting(web);
            web.done("data-web-0");
            named(web, web.target(), 0);
        },
        "grow 1, nudge nobody",
    ),
    (
        "a partition means nothing",
        |web| (waiting(web), web.set.partition = 3).1,
        "grow 1",
    ),
];

#[test]
fn pods_that_are_replaced_together() {
    for (sentence, change, expected) in RECREATE {
        let mut web = web();
        web.set.strategy = Strategy::Recreate;
        change(&mut web);
        assert_eq!(done(&web), *expected, "{sentence}");
    }
}

const OWNERS: &[Row] = &[
    (
        "a selector without matchLabels asks for no label",
        |web| {
            web.set.match_labels = Map::new();
            web.claim("data-web-2").labels = Map::new();
        },
        "grow 2",
    ),
    (
        "a claim that another set could have keeps the rest waiting",
        |web| ambiguous(web, PodManagement::OrderedReady),
        "ClaimForeign, ClaimForeign, ClaimForeign",
    ),
    (
        "with Parallel too, if it is the same with all of them",
        |web| ambiguous(web, PodManagement::Parallel),
        "ClaimForeign, ClaimForeign, ClaimForeign",
    ),
    (
        "with Parallel a foreign claim keeps nobody waiting",
        |web| {
            web.claim("data-web-2").labels = Map::new();
            web.set.pod_management = PodManagement::Parallel;
        },
        "grow 1, ClaimForeign",
    ),
    (
        "a set that is going is left alone",
        |web| web.set.terminating = true,
        "",
    ),
];

#[test]
fn whose_claims() {
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

//! Partitions, holds, and whose claims: what is done, and nothing else.

use super::{Row, all_done, check, hold, middle, middle_of_pods, unready};
use crate::rollout::fixtures::refused;
use crate::rollout::snapshot::{Neighbour, PodManagement, Snapshot};
use crate::templates::Phase;

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
        "so does a release",
        |web| {
            from_five(web);
            hold(web, 3);
            web.done("data-web-7");
        },
        "release 2",
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
        "and a hold beside it is not needed",
        |web| {
            hold(web, 3);
            web.set.partition = 7;
            web.set.replicas = 7;
            for ordinal in 3..7 {
                web.add_claim("data", ordinal);
                web.add_pod(ordinal);
            }
        },
        "lift to 7",
    ),
    (
        "a canary is over at the user's partition",
        |web| {
            middle_of_pods(web);
            web.set.partition = 2;
        },
        "lift to 2",
    ),
    (
        "then it waits for its user",
        |web| {
            middle(web);
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

const HOLDS: &[Row] = &[
    (
        "a Pod that does not become Ready keeps the next replica waiting",
        |web| {
            middle_of_pods(web);
            unready(web, 2);
        },
        "",
    ),
    (
        "Kubernetes replaces no Pod while a lower one is not Ready, so that one's claim comes first",
        |web| {
            middle_of_pods(web);
            web.pods.get_mut("web-2").unwrap().revision = "web-old".to_owned();
            unready(web, 0);
        },
        "grow 0",
    ),
    (
        "unless a status from before the last change of the set says that one is to be replaced",
        |web| {
            middle_of_pods(web);
            web.pods.get_mut("web-2").unwrap().revision = "web-old".to_owned();
            web.set.status_is_current = false;
            unready(web, 0);
        },
        "",
    ),
    (
        "which does not matter where there is no Pod",
        |web| {
            middle_of_pods(web);
            web.pods.remove("web-2");
            web.set.status_is_current = false;
            unready(web, 0);
        },
        "grow 0",
    ),
    (
        "and when that one is Ready again, the order is as it was",
        |web| {
            middle_of_pods(web);
            web.pods.get_mut("web-2").unwrap().revision = "web-old".to_owned();
            web.done("data-web-0");
        },
        "",
    ),
    (
        "unless its claim is below the user's partition",
        |web| {
            middle_of_pods(web);
            web.pods.get_mut("web-2").unwrap().revision = "web-old".to_owned();
            web.set.partition = 1;
            unready(web, 0);
        },
        "",
    ),
    (
        "with Parallel it is replaced whatever the others are",
        |web| {
            middle_of_pods(web);
            web.set.pod_management = PodManagement::Parallel;
            web.pods.get_mut("web-2").unwrap().revision = "web-old".to_owned();
            unready(web, 0);
        },
        "",
    ),
    (
        "a Pod that was replaced is not kept by a lower one from becoming Ready",
        |web| {
            middle_of_pods(web);
            unready(web, 2);
            unready(web, 0);
        },
        "",
    ),
    (
        "but not where only claims change",
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
            web.applied("data-web-2").file_system_resize_pending = true;
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
        "nothing is lifted either",
        |web| {
            middle_of_pods(web);
            web.set.paused = true;
            web.phase(Phase::Complete);
        },
        "",
    ),
    (
        "it is complete",
        |web| {
            all_done(web);
            hold(web, 3);
            web.phase(Phase::Complete);
        },
        "lift to 0, ClaimRolloutComplete",
    ),
    (
        "with Parallel the claims below a stuck one go on, but no Pod",
        |web| {
            hold(web, 3);
            web.set.pod_management = PodManagement::Parallel;
            refused(web, 1000);
            web.done("data-web-1");
        },
        "grow 0, FailedToPatchPVC",
    ),
    (
        "one after the other",
        |web| {
            hold(web, 3);
            web.set.pod_management = PodManagement::Parallel;
            refused(web, 1000);
            web.applied("data-web-1");
        },
        "FailedToPatchPVC",
    ),
];

#[test]
fn holds() {
    check(HOLDS);
}

const OWNERS: &[Row] = &[
    (
        "a selector without matchLabels asks for no label",
        |web| {
            web.set.match_labels.clear();
            web.claim("data-web-2").labels.clear();
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
            web.claim("data-web-2").labels.clear();
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
    web.neighbours.push(Neighbour {
        set: "web".to_owned(),
        templates: vec!["data-a".to_owned()],
    });
}

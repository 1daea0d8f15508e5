//! Order, ends, and everything that happens in the middle: what is done, and nothing else.

use super::{done, hold};
use crate::rollout::fixtures::{refused, template, web};
use crate::rollout::snapshot::{Neighbour, PodManagement, Snapshot, Strategy};
use crate::templates::{Phase, Sync, UpdatePolicy};

/// What is seen, and what is done.
type Row = (&'static str, fn(&mut Snapshot), &'static str);

fn check(rows: &[Row]) {
    for (sentence, change, expected) in rows {
        let mut web = web();
        change(&mut web);
        assert_eq!(done(&web), *expected, "{sentence}");
    }
}

/// The rollout is in its middle: the highest replica is done.
fn middle(web: &mut Snapshot) {
    web.done("data-web-2");
}

/// So it is with Pods that change as well: the highest one was replaced.
fn middle_of_pods(web: &mut Snapshot) {
    middle(web);
    hold(web, 2);
}

fn all_done(web: &mut Snapshot) {
    for name in ["data-web-2", "data-web-1", "data-web-0"] {
        web.done(name);
    }
}

fn unready(web: &mut Snapshot, ordinal: u32) {
    web.pods.get_mut(&format!("web-{ordinal}")).unwrap().ready_since = None;
}

const SWITCHES: &[Row] = &[
    ("before it", middle, "grow 1"),
    (
        "claims stay as they are from now on",
        |web| {
            middle_of_pods(web);
            web.set.update_policy = Some(UpdatePolicy::OnClaimDelete);
        },
        "lift to 0, ClaimsStaged",
    ),
    (
        "and back again: it goes on where it was",
        |web| {
            middle(web);
            web.earlier.as_mut().unwrap().ready = "OnClaimDelete".to_owned();
            web.set.update_policy = Some(UpdatePolicy::InPlace);
        },
        "grow 1",
    ),
    (
        "Pods go their own way from now on, and the claims as before",
        |web| {
            middle_of_pods(web);
            web.set.sync = Sync::Async;
        },
        "grow 1, lift to 0",
    ),
    (
        "as it looks after that",
        |web| {
            middle_of_pods(web);
            web.set.sync = Sync::Async;
            web.set.held = None;
        },
        "grow 1",
    ),
    (
        "and back again, without a hold: the Pods are on their way already",
        |web| {
            middle_of_pods(web);
            web.set.held = None;
        },
        "grow 1",
    ),
    (
        "Pods are replaced by hand from now on",
        |web| {
            middle(web);
            web.set.strategy = Strategy::OnDelete;
        },
        "",
    ),
];

#[test]
fn a_switch_of_policy_in_the_middle() {
    check(SWITCHES);
}

const SECOND_WISHES: &[Row] = &[
    (
        "it begins anew with the highest ordinal",
        |web| {
            middle(web);
            web.applied("data-web-1").resizing = true;
            web.stage(vec![template("data", "2Gi")]);
            web.set.staged.as_mut().unwrap().templates[0].labels = [("tier".to_owned(), "a".to_owned())].into();
            let revision = web.wish();
            web.earlier.as_mut().unwrap().revision = revision;
            // So that the apply has a word in this table.
            web.set.match_labels.insert("tier".to_owned(), "a".to_owned());
            for claim in web.claims.values_mut() {
                claim.labels.insert("tier".to_owned(), "a".to_owned());
            }
        },
        "grow 2",
    ),
    (
        "its Pod that was replaced before is not replaced again",
        |web| {
            middle_of_pods(web);
            web.claim("data-web-2").labels.remove(crate::templates::keys::REVISION);
        },
        "grow 2",
    ),
    ("then the next one", middle_of_pods, "grow 1"),
];

#[test]
fn a_second_wish_in_the_middle() {
    check(SECOND_WISHES);
}

const SCALES: &[Row] = &[
    (
        "up: the newcomers are born as wished, and waited for",
        |web| {
            middle(web);
            web.set.replicas = 4;
            web.add_claim("data", 3);
            web.applied("data-web-3").bound = false;
            web.add_pod(3);
        },
        "",
    ),
    (
        "up: a newcomer that does not exist yet is not waited for",
        |web| {
            middle(web);
            web.set.replicas = 4;
        },
        "grow 1",
    ),
    (
        "up, while Pods are held: its Pod is not held, and waited for",
        |web| {
            hold(web, 3);
            web.set.replicas = 4;
        },
        "",
    ),
    (
        "up, while Pods are held: no Pod is made while a lower one is not Ready, so that one's claim comes first",
        |web| {
            hold(web, 3);
            web.set.replicas = 4;
            unready(web, 0);
        },
        "grow 0",
    ),
    (
        "the same with Parallel, where Pods are made at once",
        |web| {
            hold(web, 3);
            web.set.replicas = 4;
            web.set.pod_management = PodManagement::Parallel;
            unready(web, 0);
        },
        "",
    ),
    (
        "one such claim at a time",
        |web| {
            hold(web, 3);
            web.set.replicas = 4;
            unready(web, 0);
            unready(web, 1);
            web.applied("data-web-1");
        },
        "",
    ),
    (
        "down: what is out of range is left alone",
        |web| {
            web.set.replicas = 2;
            web.applied("data-web-2");
        },
        "grow 1",
    ),
    (
        "down, while Pods are held: the partition follows from the highest one that is left",
        |web| {
            hold(web, 3);
            web.set.replicas = 2;
            web.done("data-web-1");
        },
        "release 1",
    ),
    (
        "to nothing: there is nothing left to do",
        |web| web.set.replicas = 0,
        "complete",
    ),
    (
        "to nothing, while Pods are held",
        |web| {
            hold(web, 3);
            web.set.replicas = 0;
        },
        "lift to 0",
    ),
    (
        "to nothing and back: the rest follows, although it said complete",
        |web| {
            middle(web);
            web.phase(Phase::Complete);
        },
        "grow 1",
    ),
];

#[test]
fn the_set_is_scaled_in_the_middle() {
    check(SCALES);
}

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

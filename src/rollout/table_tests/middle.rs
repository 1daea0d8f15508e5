//! Everything that happens in the middle of a rollout: what is done, and nothing else.

use super::{Row, check, hold, middle, middle_of_pods, unready};
use crate::rollout::fixtures::template;
use crate::rollout::snapshot::{PodManagement, Strategy};
use crate::templates::{Phase, Sync, UpdatePolicy};

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
            let labels = &mut web.set.staged.as_mut().unwrap().templates[0].labels;
            labels.insert("tier".to_owned(), "a".to_owned());
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
        "its Pod was made, and is not Ready either: a lower one is not what keeps it",
        |web| {
            hold(web, 3);
            web.set.replicas = 4;
            web.add_pod(3);
            unready(web, 3);
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

//! Everything that happens in the middle of a rollout: what is done, and nothing else.

use super::{Row, check, middle, middle_of_pods, old_pods, unready};
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
        "ClaimsStaged",
    ),
    (
        "and back again: it goes on where it was",
        |web| {
            middle(web);
            web.previous.as_mut().unwrap().ready = "OnClaimDelete".to_owned();
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
        "grow 1",
    ),
    (
        "Pods change from now on: those that were behind wait, the highest one no more",
        |web| {
            middle(web);
            old_pods(web, &[2, 1, 0]);
        },
        "nudge 2",
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

const SECOND_TARGETS: &[Row] = &[
    (
        "it begins anew with the highest ordinal",
        |web| {
            middle(web);
            web.applied("data-web-1").resizing = true;
            web.stage(vec![template("data", "2Gi")]);
            let labels = &mut web.set.staged.as_mut().unwrap().templates[0].labels;
            labels.insert("tier".to_owned(), "a".to_owned());
            let revision = web.target();
            web.previous.as_mut().unwrap().revision = revision;
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
    check(SECOND_TARGETS);
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
        "up, while Pods change: its Pod is waited for",
        |web| {
            old_pods(web, &[2, 1, 0]);
            web.set.replicas = 4;
        },
        "",
    ),
    (
        "up, while Pods change: the claim of a Pod that is not Ready comes first",
        |web| {
            old_pods(web, &[2, 1, 0]);
            web.set.replicas = 4;
            unready(web, 0);
        },
        "grow 0",
    ),
    (
        "the same with Parallel",
        |web| {
            old_pods(web, &[2, 1, 0]);
            web.set.replicas = 4;
            web.set.pod_management = PodManagement::Parallel;
            unready(web, 0);
        },
        "grow 0",
    ),
    (
        "its Pod was made, and is not Ready either: there is no claim to come first",
        |web| {
            old_pods(web, &[2, 1, 0]);
            web.set.replicas = 4;
            web.add_pod(3);
            unready(web, 3);
            unready(web, 0);
        },
        "grow 0",
    ),
    (
        "one such claim at a time",
        |web| {
            old_pods(web, &[2, 1, 0]);
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
        "down, while Pods change: the highest one that is left is asked for",
        |web| {
            old_pods(web, &[2, 1, 0]);
            web.set.replicas = 2;
            web.done("data-web-1");
        },
        "nudge 1",
    ),
    (
        "to nothing: there is nothing left to do",
        |web| web.set.replicas = 0,
        "complete",
    ),
    (
        "to nothing, while Pods change",
        |web| {
            old_pods(web, &[2, 1, 0]);
            web.set.replicas = 0;
        },
        "complete",
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

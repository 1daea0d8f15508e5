//! Changes in the middle of a rollout.

use super::{Row, check, middle, middle_of_pods, old_pods, unready};
use crate::gate::PodManagement;
use crate::rollout::fixtures::template;
use crate::templates::{Phase, Strategy, Sync, UpdatePolicy};

const SWITCHES: &[Row] = &[
    ("no change", middle, "grow 1"),
    (
        "to OnClaimDelete",
        |web| {
            middle_of_pods(web);
            web.set.update_policy = Some(UpdatePolicy::OnClaimDelete);
        },
        "ClaimsStaged",
    ),
    (
        "back to InPlace: the rollout continues",
        |web| {
            middle(web);
            web.previous.as_mut().unwrap().ready = "OnClaimDelete".to_owned();
            web.set.update_policy = Some(UpdatePolicy::InPlace);
        },
        "grow 1",
    ),
    (
        "to Async: claims follow as before",
        |web| {
            middle_of_pods(web);
            web.set.sync = Sync::Async;
        },
        "grow 1",
    ),
    (
        "Pods change from now on: Pods of outdated claims wait",
        |web| {
            middle(web);
            old_pods(web, &[2, 1, 0]);
        },
        "nudge 2",
    ),
    (
        "to OnDelete",
        |web| {
            middle(web);
            web.set.strategy = Strategy::OnDelete;
        },
        "",
    ),
];

#[test]
fn policy_switch_in_the_middle() {
    check(SWITCHES);
}

const SECOND_TARGETS: &[Row] = &[
    (
        "what is in motion is finished first",
        |web| {
            middle(web);
            web.applied("data-web-1").resizing = true;
            web.stage(vec![template("data", "2Gi")]);
            let labels = &mut web.set.staged.as_mut().unwrap().templates[0].labels;
            labels.insert("tier".to_owned(), "a".to_owned());
            let revision = web.target();
            web.previous.as_mut().unwrap().revision = revision;
            // So that the apply is `grow 2` in this table.
            web.set.match_labels.insert("tier".to_owned(), "a".to_owned());
            for claim in web.claims.values_mut() {
                claim.labels.insert("tier".to_owned(), "a".to_owned());
            }
        },
        "grow 1",
    ),
    (
        "nothing is in motion: it starts again with the highest ordinal",
        |web| {
            middle(web);
            web.claim("data-web-2").labels.remove(crate::templates::keys::REVISION);
        },
        "grow 2",
    ),
    (
        "a replaced Pod is not replaced again",
        |web| {
            middle_of_pods(web);
            web.claim("data-web-2").labels.remove(crate::templates::keys::REVISION);
        },
        "grow 2",
    ),
    ("then the next replica", middle_of_pods, "grow 1"),
];

#[test]
fn second_target_in_the_middle() {
    check(SECOND_TARGETS);
}

const SCALES: &[Row] = &[
    (
        "up: new claims are created updated, and waited for",
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
        "up: a new claim that does not exist yet is not waited for",
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
        "up, with a new Pod that is not Ready and has no claim",
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
        "up, while Pods change: one claim at a time",
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
        "down: claims out of range are left alone",
        |web| {
            web.set.replicas = 2;
            web.applied("data-web-2");
        },
        "grow 1",
    ),
    (
        "down, while Pods change: the highest remaining Pod is named",
        |web| {
            old_pods(web, &[2, 1, 0]);
            web.set.replicas = 2;
            web.done("data-web-1");
        },
        "nudge 1",
    ),
    ("to zero", |web| web.set.replicas = 0, "complete"),
    (
        "to zero, while Pods change",
        |web| {
            old_pods(web, &[2, 1, 0]);
            web.set.replicas = 0;
        },
        "complete",
    ),
    (
        "to zero and back: the rest follows, and the phase is Complete no more",
        |web| {
            middle(web);
            web.phase(Phase::Complete);
        },
        "grow 1, back 3",
    ),
];

#[test]
fn scaling_in_the_middle() {
    check(SCALES);
}

//! Replicas that were scaled away since the change was staged: their PVCs are written last, and the rollout is not
//! complete before. Some drivers expand only what no Pod uses.

use super::{Row, check, done, middle};
use crate::gate::{ClaimState, PodManagement};
use crate::json::Map;
use crate::rollout::fixtures::{gi, refused, web};
use crate::rollout::plan::plan;
use crate::rollout::snapshot::{Resize, Snapshot};
use crate::templates::{Phase, UpdatePolicy};

/// Three replicas were there when the change was staged.
fn scaled_to(web: &mut Snapshot, replicas: u32) {
    web.set.staged.as_mut().unwrap().replicas = 3;
    for ordinal in replicas..3 {
        web.pods.remove(&format!("web-{ordinal}"));
    }
    web.set.replicas = replicas;
}

fn reported_complete(web: &mut Snapshot) {
    web.phase(Phase::Complete);
    "Complete".clone_into(&mut web.previous.as_mut().unwrap().ready);
}

const ROWS: &[Row] = &[
    ("scaled to 0", |web| scaled_to(web, 0), "grow 2"),
    (
        "the next one",
        |web| {
            scaled_to(web, 0);
            web.done("data-web-2");
        },
        "grow 1",
    ),
    (
        "one at a time",
        |web| {
            scaled_to(web, 0);
            web.applied("data-web-2").resizing = true;
        },
        "",
    ),
    (
        "only its node has work to do, which needs its Pod",
        |web| {
            scaled_to(web, 0);
            web.applied("data-web-2").resize = Some(Resize::NodePending);
        },
        "grow 1",
    ),
    (
        "all wait for their Pods",
        |web| {
            scaled_to(web, 0);
            for name in ["data-web-2", "data-web-1", "data-web-0"] {
                web.applied(name).resize = Some(Resize::NodePending);
            }
        },
        "",
    ),
    (
        "all are done",
        |web| {
            scaled_to(web, 0);
            for name in ["data-web-2", "data-web-1", "data-web-0"] {
                web.done(name);
            }
        },
        "complete",
    ),
    ("those in range come first", |web| scaled_to(web, 2), "grow 1"),
    (
        "those in range are done",
        |web| {
            scaled_to(web, 2);
            web.done("data-web-1");
            web.done("data-web-0");
        },
        "grow 2",
    ),
    (
        "one that was scaled away is in motion",
        |web| {
            scaled_to(web, 2);
            web.applied("data-web-2").resizing = true;
        },
        "",
    ),
    (
        "the Pod of one that was scaled away is being deleted",
        |web| {
            scaled_to(web, 1);
            web.done("data-web-0");
            web.add_pod(2);
            web.pods.get_mut("web-2").unwrap().deleted = Some(1030);
        },
        "grow 2",
    ),
    (
        "it is not there any more",
        |web| {
            scaled_to(web, 0);
            web.claims.clear();
        },
        "complete",
    ),
    (
        "it is being deleted, has no volume, or belongs to somebody else",
        |web| {
            scaled_to(web, 0);
            web.claim("data-web-2").terminating = true;
            web.claim("data-web-1").bound = false;
            web.take_over("data-web-0");
        },
        "complete",
    ),
    (
        "it was scaled away before the change was staged",
        |web| {
            scaled_to(web, 0);
            web.set.staged.as_mut().unwrap().replicas = 0;
        },
        "complete",
    ),
    (
        "the API server denied it",
        |web| {
            scaled_to(web, 0);
            refused(web, 1000);
        },
        "FailedToPatchPVC",
    ),
    (
        "with Parallel, a denied one stops no other",
        |web| {
            scaled_to(web, 0);
            web.set.pod_management = PodManagement::Parallel;
            refused(web, 1000);
        },
        "grow 1, FailedToPatchPVC",
    ),
    (
        "the rollout is paused",
        |web| {
            scaled_to(web, 0);
            web.set.paused = true;
        },
        "",
    ),
    (
        "the rollout was complete before",
        |web| {
            scaled_to(web, 0);
            reported_complete(web);
        },
        "",
    ),
    (
        "only new PVCs get the templates",
        |web| {
            scaled_to(web, 0);
            web.set.update_policy = Some(UpdatePolicy::OnClaimDelete);
        },
        "ClaimsStaged",
    ),
    (
        "the set is being deleted",
        |web| {
            scaled_to(web, 0);
            web.set.terminating = true;
        },
        "",
    ),
];

#[test]
fn claims_of_replicas_scaled_away_come_last() {
    check(ROWS);
}

/// The reason and the message of the condition `Ready`.
type MessageRow = (&'static str, fn(&mut Snapshot), &'static str, &'static str);

#[test]
fn report_names_claims_of_replicas_scaled_away() {
    let rows: [MessageRow; 3] = [
        (
            "one is written",
            |web| web.applied("data-web-2").resizing = true,
            "RollingOut",
            "0 of 0 replicas are ready; data-web-2 is Expanding: capacity 1Gi of 2Gi; its Pod was scaled away",
        ),
        (
            "all wait for their Pods",
            |web| {
                for name in ["data-web-2", "data-web-1", "data-web-0"] {
                    web.applied(name).resize = Some(Resize::NodePending);
                }
                // However long it takes.
                web.previous.as_mut().unwrap().moved = Some(0);
            },
            "ScaledDown",
            "0 of 0 replicas are ready; data-web-2 is NodeExpanding: capacity 1Gi of 2Gi; when its Pod is back: scale up",
        ),
        (
            "the driver cannot do it",
            |web| web.applied("data-web-2").resize = Some(Resize::ControllerInfeasible),
            "ClaimInfeasible",
            "data-web-2: not possible for the driver; withdraw the change, and let the PVC request at least 1025Mi",
        ),
    ];
    for (row, change, reason, message) in rows {
        let mut web = web();
        scaled_to(&mut web, 0);
        change(&mut web);
        let progress = plan(&web).progress;
        assert_eq!(
            (progress.ready.reason, &*progress.ready.message),
            (reason, message),
            "{row}"
        );
        assert_eq!(progress.counts.unwrap().replicas, 0, "{row}");
    }
}

/// A driver that expands only what no Pod uses: one outage, and one completion, at the end.
#[test]
fn offline_driver_needs_one_outage() {
    let mut web = web();
    web.set.staged.as_mut().unwrap().replicas = 3;
    let mut acts = vec![done(&web)];
    // In use: the driver retries.
    web.applied("data-web-2").resizing = true;
    acts.push(done(&web));
    scaled_to(&mut web, 0);
    for name in ["data-web-2", "data-web-1", "data-web-0"] {
        // Nobody uses it: the volume grows, and then its file system waits for a Pod.
        (web.applied(name).resizing, web.claim(name).resize) = (false, Some(Resize::NodePending));
        acts.push(done(&web));
    }
    assert_eq!(plan(&web).progress.ready.reason, "ScaledDown");
    web.set.replicas = 3;
    for ordinal in 0..3 {
        web.add_pod(ordinal);
        acts.push(done(&web));
        web.done(&format!("data-web-{ordinal}"));
        web.claim(&format!("data-web-{ordinal}")).resize = None;
    }
    acts.push(done(&web));
    assert_eq!(acts, ["grow 2", "", "grow 1", "grow 0", "", "", "", "", "complete"]);
}

/// What the highest of three claims is like after the rollout, and the actions.
const COMPLETE: &[Row] = &[
    ("updated", |_| {}, ""),
    (
        "outdated: its replica was scaled away, and is back",
        |web| web.claim("data-web-2").labels = web.set.match_labels.clone(),
        "grow 2, back 3",
    ),
    (
        "the same, and the rollout is paused",
        |web| {
            web.claim("data-web-2").labels = web.set.match_labels.clone();
            web.set.paused = true;
        },
        "",
    ),
    (
        "the same, below a partition",
        |web| {
            web.claim("data-web-2").labels = web.set.match_labels.clone();
            web.set.partition = 3;
        },
        "",
    ),
    (
        "it is about to be created",
        |web| _ = web.claims.remove("data-web-2"),
        "",
    ),
    (
        "it belongs to somebody else",
        |web| {
            web.claim("data-web-2").labels = Map::new();
            web.take_over("data-web-2");
        },
        "ClaimForeign",
    ),
    (
        "somebody asks for more, and the volume does not have it",
        |web| web.claim("data-web-2").request = gi(9),
        "",
    ),
    (
        "OpenKruise: nothing is written to the set",
        |web| {
            web.claim("data-web-2").labels = web.set.match_labels.clone();
            web.set.templates_can_change = true;
        },
        "grow 2",
    ),
];

#[test]
fn complete_is_taken_back_for_a_replica_that_is_back() {
    for (row, change, expected) in COMPLETE {
        let mut web = web();
        for name in ["data-web-2", "data-web-1", "data-web-0"] {
            web.done(name);
        }
        reported_complete(&mut web);
        change(&mut web);
        assert_eq!(done(&web), *expected, "{row}");
    }
}

#[test]
fn states_of_claims_that_can_follow_are_listed() {
    let mut web = web();
    scaled_to(&mut web, 0);
    middle(&mut web);
    let listed = plan(&web).progress.claims;
    let states: Vec<_> = listed.iter().map(|claim| (&*claim.name, claim.state)).collect();
    let pending = ClaimState::Pending;
    assert_eq!(states, [("data-web-1", pending), ("data-web-0", pending)]);
}

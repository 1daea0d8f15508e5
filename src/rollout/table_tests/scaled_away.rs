//! Replicas that were scaled away since the change was staged: their PVCs are written last, and the rollout is not
//! complete before. Some drivers expand only what no Pod uses.

use super::words::{act, common};
use super::{check_with, done};
use crate::gate::ClaimState;
use crate::json::Map;
use crate::rollout::fixtures::{rows, web};
use crate::rollout::plan::plan;
use crate::rollout::snapshot::{Resize, Snapshot};

/// Three replicas were there when the change was staged.
fn scaled_to(web: &mut Snapshot, replicas: u32) {
    web.set.staged.as_mut().unwrap().replicas = 3;
    for ordinal in replicas..3 {
        web.pods.remove(&format!("web-{ordinal}"));
    }
    web.set.replicas = replicas;
}

fn word(web: &mut Snapshot, word: &str, numbers: &[u32]) {
    match (word, numbers) {
        ("scaled to", [replicas]) => scaled_to(web, *replicas),
        ("staged later", []) => web.set.staged.as_mut().unwrap().replicas = 0,
        ("outdated", []) => web.claim("data-web-2").labels = web.set.match_labels.clone(),
        ("no labels", []) => web.claim("data-web-2").labels = Map::new(),
        _ => common(web, word, numbers),
    }
}

const ROWS: &str = "
    scaled to 0                                | scaled to 0                              | grow 2
    the next one                               | scaled to 0, done 2                      | grow 1
    one at a time                              | scaled to 0, expanding 2                 |
    only its node has work to do, which needs its Pod | scaled to 0, node pending 2 | grow 1
    all wait for their Pods                    | scaled to 0, node pending 2 1 0          |
    all are done                               | scaled to 0, done 2 1 0                  | complete
    those in range come first                  | scaled to 2                              | grow 1
    those in range are done                    | scaled to 2, done 1 0                    | grow 2
    one that was scaled away is in motion      | scaled to 2, expanding 2                 |
    the Pod of one that was scaled away is being deleted | scaled to 1, done 0, new Pod 2, ending 2 | grow 2
    it is not there any more                   | scaled to 0, missing 2 1 0               | complete
    it is being deleted, has no volume, or belongs to somebody else | scaled to 0, terminating 2, unbound 1, foreign 0 \
        | complete
    it was scaled away before the change was staged | scaled to 0, staged later | complete
    the API server denied it                   | scaled to 0, denied at 1000              | FailedToPatchPVC
    with Parallel, a denied one stops no other | scaled to 0, Parallel, denied at 1000    | grow 1, FailedToPatchPVC
    its PVC differs from the template          | scaled to 0, another access mode 2       | grow 1
    the rollout is paused                      | scaled to 0, paused                      |
    the rollout was complete before            | scaled to 0, Complete, reported Complete |
    only new PVCs get the templates            | scaled to 0, OnClaimDelete               | ClaimsStaged
    the set is being deleted                   | scaled to 0, deleted set                 |
";

#[test]
fn claims_of_replicas_scaled_away_come_last() {
    check_with(web, ROWS, word);
}

/// A change, the reason and the message of the condition `Ready`.
const MESSAGES: &str = "
    one is written | expanding 2 | RollingOut \
        | 0 of 0 replicas are ready; data-web-2 is Expanding: capacity 1Gi of 2Gi; its Pod was scaled away
    // However long it takes.
    all wait for their Pods | node pending 2 1 0, moved long ago | ScaledDown \
        | 0 of 0 replicas are ready; data-web-2 is NodeExpanding: capacity 1Gi of 2Gi; when its Pod is back: scale up
    the driver cannot do it | infeasible 2 | ClaimInfeasible \
        | data-web-2: not possible for the driver; withdraw the change, and let the PVC request at least 1025Mi
";

#[test]
fn report_names_claims_of_replicas_scaled_away() {
    for [row, change, reason, message] in rows(MESSAGES) {
        let mut web = web();
        scaled_to(&mut web, 0);
        act(&mut web, change, |web, word, numbers| match word {
            "moved long ago" => web.previous.as_mut().unwrap().moved = Some(0),
            _ => common(web, word, numbers),
        });
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
const COMPLETE: &str = "
    updated                                                 |                       |
    outdated: its replica was scaled away, and is back      | outdated              | grow 2, back 3
    the same, and the rollout is paused                     | outdated, paused      |
    the same, below a partition                             | outdated, partition 3 |
    it is about to be created                               | missing 2             |
    it belongs to somebody else                             | no labels, foreign 2  | ClaimForeign
    somebody asks for more, and the volume does not have it | request 2 9           |
    OpenKruise: nothing is written to the set               | outdated, mutable     | grow 2
";

#[test]
fn complete_is_taken_back_for_a_replica_that_is_back() {
    let complete = || {
        let mut web = web();
        act(&mut web, "done 2 1 0, Complete, reported Complete", common);
        web
    };
    check_with(complete, COMPLETE, word);
}

#[test]
fn states_of_claims_that_can_follow_are_listed() {
    let mut web = web();
    scaled_to(&mut web, 0);
    web.done("data-web-2");
    let listed = plan(&web).progress.claims;
    let states: Vec<_> = listed.iter().map(|claim| (&*claim.name, claim.state)).collect();
    let pending = ClaimState::Pending;
    assert_eq!(states, [("data-web-1", pending), ("data-web-0", pending)]);
}

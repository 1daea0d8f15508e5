//! The messages of the conditions: what a rollout does, and why it waits.

use super::words::{act, common};
use crate::gate::PodManagement;
use crate::rollout::fixtures::{owner, refused, rows, template, trouble, web as fixture};
use crate::rollout::plan::{RECHECK, plan};
use crate::rollout::snapshot::{PodView, Snapshot, Unready};

fn pod(web: &mut Snapshot) -> &mut PodView {
    web.pods.get_mut("web-2").unwrap()
}

/// The claim of the highest replica is ready, and its Pod is to be replaced.
fn released(web: &mut Snapshot) {
    web.done("data-web-2");
    web.set.update_revision = "web-9f".to_owned();
}

/// Kubernetes has replaced the Pod, which has not been Ready since 900.
fn unready(web: &mut Snapshot, message: &str) {
    released(web);
    let pod = pod(web);
    pod.revision = "web-9f".to_owned();
    pod.ready_since = None;
    pod.unready = Some(Unready {
        since: 900,
        message: message.to_owned(),
    });
}

/// Kubernetes does not replace the highest Pod, because the lowest has not been Ready since 900. Its claim is done.
fn unready_below(web: &mut Snapshot) {
    unready(web, "no space left");
    let below = PodView {
        name: "web-0".to_owned(),
        ..pod(web).clone()
    };
    web.pods.insert("web-0".to_owned(), below);
    web.done("data-web-0");
    (pod(web).revision, pod(web).unready) = ("web-old".to_owned(), None);
}

fn word(web: &mut Snapshot, word: &str, numbers: &[u32]) {
    match word {
        "log applied" => {
            web.set.live.push(template("log", "1Gi"));
            web.stage(vec![template("data", "2Gi"), template("log", "2Gi")]);
            (0..3).for_each(|ordinal| web.add_claim("log", ordinal));
            web.applied("log-web-2");
        }
        "released" => released(web),
        "replaced" => unready(web, "containers with unready status: [app]"),
        "unready below" => unready_below(web),
        "trouble" => web.claim("data-web-2").troubles = vec![trouble("ControllerResizeError")],
        "of a VirtualMachine" => web.claim("data-web-2").owners = vec![owner("VirtualMachine", "vm", "vm-uid")],
        _ => common(web, word, numbers),
    }
}

/// A change of the fixture, the condition that holds, its reason, and its message.
const ROWS: &str = "
    applied 2 | Reconciling | RollingOut | 0 of 3 replicas are ready; data-web-2 is Applied: capacity 1Gi of 2Gi
    Parallel, applied 1, missing 2 | Reconciling | RollingOut \
        | 0 of 3 replicas are ready; data-web-1 is Applied: capacity 1Gi of 2Gi
    log applied, missing 2 | Reconciling | RollingOut \
        | 0 of 3 replicas are ready; log-web-2 is Applied: capacity 1Gi of 2Gi
    expanding 2 | Reconciling | RollingOut | 0 of 3 replicas are ready; data-web-2 is Expanding: capacity 1Gi of 2Gi
    node pending 2 | Reconciling | RollingOut \
        | 0 of 3 replicas are ready; data-web-2 is NodeExpanding: capacity 1Gi of 2Gi
    modifying 2 | Reconciling | RollingOut \
        | 0 of 3 replicas are ready; data-web-2 is Modifying: attributes class none, expected fast
    modifying 2, modify Pending 2 | Reconciling | RollingOut \
        | 0 of 3 replicas are ready; data-web-2 is Modifying: attributes class none, expected fast: the class may not \
            exist
    unbound 2 | Reconciling | RollingOut | 0 of 3 replicas are ready; data-web-2 is Unbound: waiting for a volume
    done 2 1 0 | Reconciling | RollingOut | 3 of 3 replicas are ready
    missing 2, done 1 0 | Reconciling | RollingOut \
        | 2 of 3 replicas are ready; data-web-2 is Missing: waiting for the StatefulSet controller to create it
    released | Reconciling | RollingOut \
        | 1 of 3 replicas are ready; waiting for Pod web-2 to be Ready at revision web-9f
    released, no Pod 2 | Reconciling | RollingOut \
        | 1 of 3 replicas are ready; waiting for Pod web-2 to be Ready at revision web-9f
    replaced | Reconciling | RollingOut \
        | 1 of 3 replicas are ready; waiting for Pod web-2 to be Ready at revision web-9f: containers with unready \
            status: [app]
    replaced, now 929 | Reconciling | RollingOut \
        | 1 of 3 replicas are ready; waiting for Pod web-2 to be Ready at revision web-9f
    unready below | Reconciling | RollingOut \
        | 2 of 3 replicas are ready; waiting for Pod web-2 to be Ready at revision web-9f, which Kubernetes replaces \
            when web-0 is Ready: no space left
    released, ending at 2 960 | Reconciling | RollingOut \
        | 1 of 3 replicas are ready; waiting for Pod web-2 to be Ready at revision web-9f: still being deleted
    released, capacity 2 1 | Reconciling | RollingOut \
        | 0 of 3 replicas are ready; data-web-2 is Applied: capacity 1Gi of 2Gi; Pod web-2 is replaced when it is ready
    paused | Reconciling | Paused | 0 of 3 replicas are ready; paused by the annotation claim-rollout.io/paused
    partition 2, done 2 | Reconciling | Partitioned | 1 of 3 replicas are ready; the others are below the partition 2
    denied at 1000 | Stalled | ClaimRefused | data-web-2: exceeded quota
    infeasible 2, trouble | Stalled | ClaimInfeasible \
        | data-web-2: ControllerResizeError of the driver; withdraw the change, and let the PVC request at least 1025Mi
    of a VirtualMachine | Stalled | ClaimForeign | data-web-2: owned by VirtualMachine vm
    // A stuck claim does not matter before its turn, or below the partition.
    foreign 0 | Reconciling | RollingOut | 0 of 3 replicas are ready; data-web-2 is Pending: waiting for its turn
    partition 2, foreign 0, done 2 | Reconciling | Partitioned \
        | 1 of 3 replicas are ready; the others are below the partition 2
    paused, infeasible 2 | Stalled | ClaimInfeasible \
        | data-web-2: not possible for the driver; withdraw the change, and let the PVC request at least 1025Mi
    done 2 1 0, Complete | Ready | Complete | All PVCs are updated and ready
";

#[test]
fn conditions_explain_what_a_rollout_waits_for() {
    for [change, holds, reason, message] in rows(ROWS) {
        let mut web = fixture();
        act(&mut web, change, word);
        let progress = plan(&web).progress;
        let conditions = [
            ("Ready", &progress.ready),
            ("Reconciling", &progress.reconciling),
            ("Stalled", &progress.stalled),
        ];
        let holding: Vec<_> = conditions.iter().filter(|(_, condition)| condition.holds).collect();
        let [(kind, condition)] = holding[..] else {
            panic!("expected one condition, but found {holding:?}")
        };
        assert_eq!(
            (*kind, condition.reason, condition.message.as_str()),
            (holds, reason, message)
        );
        // The condition Ready always has the reason and the message.
        assert_eq!(
            (progress.ready.reason, progress.ready.message.as_str()),
            (reason, message)
        );
    }
}

#[test]
fn pod_not_ready_is_explained_after_patience() {
    let mut web = fixture();
    unready(&mut web, "0/3 nodes are available");
    web.now = 910;
    assert_eq!(plan(&web).requeue_after, Some(20));
    web.now = 930;
    assert_eq!(plan(&web).requeue_after, Some(RECHECK));
    assert!(plan(&web).progress.ready.message.ends_with(": 0/3 nodes are available"));
}

#[test]
fn lower_pod_is_named_only_if_kubernetes_waits_for_it() {
    let is_named = |web: &Snapshot| plan(web).progress.ready.message.contains("when web-0 is Ready");
    let mut web = fixture();
    unready_below(&mut web);
    assert!(is_named(&web));
    pod(&mut web).revision = "web-9f".to_owned();
    assert!(!is_named(&web), "{:?}", plan(&web).progress.ready.message);
}

#[test]
fn two_pods_not_ready_requeue_at_each_patience() {
    let mut web = fixture();
    unready_below(&mut web);
    pod(&mut web).unready = web.pods["web-0"].unready.clone();
    web.pods.get_mut("web-0").unwrap().unready.as_mut().unwrap().since = 915;
    web.now = 930;
    assert_eq!(
        plan(&web).requeue_after,
        Some(15),
        "the patience with the highest is over"
    );
}

#[test]
fn min_ready_seconds_requeue_only_if_pods_change() {
    let mut web = fixture();
    web.set.min_ready_seconds = 30;
    web.pods.get_mut("web-2").unwrap().ready_since = Some(web.now - 10);
    web.applied("data-web-2");
    assert_eq!(plan(&web).requeue_after, Some(RECHECK), "no Pod is waited for");
    released(&mut web);
    pod(&mut web).revision = "web-9f".to_owned();
    assert_eq!(plan(&web).requeue_after, Some(20));
}

#[test]
fn parallel_reports_stuck_claim_while_others_continue() {
    let mut web = fixture();
    web.set.pod_management = PodManagement::Parallel;
    refused(&mut web, 1000);
    web.applied("data-web-1");
    assert_eq!(plan(&web).progress.stalled.message, "data-web-2: exceeded quota");
    // A claim that would be stuck at its turn does not stall the rollout before.
    let mut web = fixture();
    web.set.pod_management = PodManagement::Parallel;
    web.applied("data-web-2");
    web.take_over("data-web-1");
    assert!(plan(&web).progress.reconciling.holds);
}

#[test]
fn paused_is_the_reason_of_pending_claims_only() {
    let mut web = fixture();
    web.set.paused = true;
    web.applied("data-web-2");
    let listed = plan(&web).progress.claims;
    let reasons: Vec<&str> = listed.iter().map(|claim| claim.reason.as_str()).collect();
    assert_eq!(reasons, ["NotBegun", "Paused", "Paused"]);
}

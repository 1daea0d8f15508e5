//! `updateStrategy: OnDelete`: the claims of a replica follow once its Pod was deleted by hand.

use crate::gate::ClaimState;
use crate::rollout::Reason;
use crate::rollout::fixtures::{apply, complete, events, refused, state, web as fixture, writes};
use crate::rollout::plan::plan;
use crate::rollout::snapshot::{PodView, Snapshot};
use crate::templates::Strategy;

/// The target was first seen at 950; all Pods are older.
fn web() -> Snapshot {
    let mut web = fixture();
    web.set.strategy = Strategy::OnDelete;
    web
}

fn pod(web: &mut Snapshot, ordinal: u32) -> &mut PodView {
    web.pods.get_mut(&format!("web-{ordinal}")).unwrap()
}

/// A change of the Pod of the middle replica, and whether its claim is written.
type Row = (&'static str, fn(&mut Snapshot), bool);

#[test]
fn claim_follows_when_its_pod_was_deleted_after_staging() {
    let rows: [Row; 8] = [
        ("no change", |_| {}, false),
        ("the Pod does not exist", |web| _ = web.pods.remove("web-1"), true),
        ("the Pod is being deleted", |web| pod(web, 1).deleted = Some(1030), true),
        (
            "the Pod was created after staging",
            |web| pod(web, 1).created = 951,
            true,
        ),
        (
            "the Pod was created before staging",
            |web| pod(web, 1).created = 949,
            false,
        ),
        (
            "the Pod was created in the same second",
            |web| pod(web, 1).created = 950,
            false,
        ),
        (
            "the start is unknown",
            |web| {
                pod(web, 1).created = 951;
                web.previous.as_mut().unwrap().started = None;
            },
            false,
        ),
        (
            "the Pod does not exist, and the rollout is paused",
            |web| {
                web.pods.remove("web-1");
                web.set.paused = true;
            },
            false,
        ),
    ];
    check(&rows);
}

fn check(rows: &[Row]) {
    for (row, change, written) in rows {
        let mut web = web();
        change(&mut web);
        let expected = if *written { vec![apply(&web, 1)] } else { vec![] };
        assert_eq!(writes(&web), expected, "{row}");
    }
}

#[test]
fn claim_follows_by_the_time_of_the_api_server() {
    let rows: [Row; 4] = [
        (
            "without a report, the API server knows the time of staging",
            |web| {
                pod(web, 1).created = 951;
                web.previous = None;
                web.staged_before = Some(950);
            },
            true,
        ),
        (
            "the Pod was created after staging, and before the first report",
            |web| {
                pod(web, 1).created = 931;
                web.staged_before = Some(930);
            },
            true,
        ),
        (
            "the Pod was created before staging",
            |web| {
                pod(web, 1).created = 930;
                web.staged_before = Some(930);
            },
            false,
        ),
        (
            "the manager that staged the change has written again since",
            |web| {
                pod(web, 1).created = 951;
                web.staged_before = Some(990);
            },
            true,
        ),
    ];
    check(&rows);
}

#[test]
fn on_delete_has_neither_order_nor_partition() {
    let mut web = web();
    // The partition of a previous strategy may remain in the spec.
    web.set.partition = 2;
    refused(&mut web, 1000);
    for ordinal in 0..3 {
        web.pods.remove(&format!("web-{ordinal}"));
    }
    assert_eq!(
        writes(&web),
        [apply(&web, 1), apply(&web, 0)],
        "the highest apply was denied"
    );
    web.applied("data-web-1");
    assert_eq!(writes(&web), [apply(&web, 0)]);
}

#[test]
fn on_delete_completes_after_every_pod_was_deleted() {
    let mut web = web();
    web.set.partition = 2;
    for ordinal in [0, 2, 1] {
        assert_eq!(writes(&web), []);
        pod(&mut web, ordinal).created = 1000;
        assert_eq!(writes(&web), [apply(&web, ordinal)]);
        web.done(&format!("data-web-{ordinal}"));
    }
    assert_eq!(writes(&web), [complete(&web)]);
}

#[test]
fn message_names_the_pods_to_delete() {
    let mut web = web();
    web.done("data-web-2");
    let progress = plan(&web).progress;
    assert_eq!(
        (progress.ready.holds, progress.reconciling.holds, progress.ready.reason),
        (false, true, "OnDelete")
    );
    let message = "1 of 3 replicas are ready; delete these Pods to continue: web-1, web-0";
    assert_eq!(progress.ready.message, message);
    let listed = &progress.claims[0];
    assert_eq!(
        (listed.state, listed.reason.as_str(), listed.message.as_str()),
        (ClaimState::Pending, "OnDelete", "waiting for Pod web-1 to be deleted")
    );
    web.pods.remove("web-0");
    web.applied("data-web-0");
    assert_eq!(state(&web, "data-web-0"), ClaimState::Applied);
    let progress = plan(&web).progress;
    let message = "1 of 3 replicas are ready; data-web-0 is Applied: capacity 1Gi of 2Gi";
    assert_eq!(
        (progress.ready.reason, progress.ready.message.as_str()),
        ("RollingOut", message)
    );

    web.previous = None;
    let staged = format!(
        "Updating 3 PVCs of template \"data\" to revision {}, each after its Pod is deleted",
        web.target()
    );
    assert_eq!(events(&web), [(Reason::ClaimsStaged, staged)]);
}

#[test]
fn message_cuts_a_long_list_of_pods() {
    let mut web = web();
    web.set.replicas = 5;
    for ordinal in [3, 4] {
        web.add_claim("data", ordinal);
        web.add_pod(ordinal);
    }
    let message = "0 of 5 replicas are ready; delete these Pods to continue: web-4, web-3, web-2 and 2 more";
    assert_eq!(plan(&web).progress.reconciling.message, message);
}

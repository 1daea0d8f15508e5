//! `updateStrategy: OnDelete`: the claims of a replica follow once its Pod was deleted by hand.

use crate::rollout::Reason;
use crate::rollout::fixtures::{apply, complete, events, refused, state, web as fixture, writes};
use crate::rollout::plan::plan;
use crate::rollout::readiness::ClaimState;
use crate::rollout::snapshot::{PodView, Snapshot, Strategy};

/// The wish was first seen at 950; all Pods are older.
fn web() -> Snapshot {
    let mut web = fixture();
    web.set.strategy = Strategy::OnDelete;
    web
}

fn pod(web: &mut Snapshot, ordinal: u32) -> &mut PodView {
    web.pods.get_mut(&format!("web-{ordinal}")).unwrap()
}

/// What became of the Pod of the middle replica, and whether its claim is written.
type Row = (&'static str, fn(&mut Snapshot), bool);

#[test]
fn a_claim_follows_once_its_pod_was_deleted_after_the_wish() {
    let rows: [Row; 8] = [
        ("it is as it was", |_| {}, false),
        ("it is gone", |web| _ = web.pods.remove("web-1"), true),
        ("it is going", |web| pod(web, 1).deleted = Some(1030), true),
        ("it was made after the wish", |web| pod(web, 1).created = 951, true),
        ("it was made just before", |web| pod(web, 1).created = 949, false),
        ("it was made in the very second", |web| pod(web, 1).created = 950, false),
        (
            "nobody knows when the wish was first seen",
            |web| {
                pod(web, 1).created = 951;
                web.previous.as_mut().unwrap().started = None;
            },
            false,
        ),
        (
            "it is gone, but the rollout is paused",
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
    for (sentence, change, written) in rows {
        let mut web = web();
        change(&mut web);
        let expected = if *written { vec![apply(&web, 1)] } else { vec![] };
        assert_eq!(writes(&web), expected, "{sentence}");
    }
}

#[test]
fn a_claim_follows_also_where_only_the_api_server_saw_the_wish() {
    let rows: [Row; 4] = [
        (
            "nobody has reported the wish, but the API server says when it was staged",
            |web| {
                pod(web, 1).created = 951;
                web.previous = None;
                web.staged_at = Some(950);
            },
            true,
        ),
        (
            "it was staged before anybody saw that",
            |web| {
                pod(web, 1).created = 931;
                web.staged_at = Some(930);
            },
            true,
        ),
        (
            "it was made before it was staged",
            |web| {
                pod(web, 1).created = 930;
                web.staged_at = Some(930);
            },
            false,
        ),
        (
            "who staged it has written something since",
            |web| {
                pod(web, 1).created = 951;
                web.staged_at = Some(990);
            },
            true,
        ),
    ];
    check(&rows);
}

#[test]
fn there_is_no_order_and_no_partition_and_nobody_waits_for_another() {
    let mut web = web();
    // A partition that is not there any more is still noted beside it.
    web.set.partition = 2;
    refused(&mut web, 1000);
    for ordinal in 0..3 {
        web.pods.remove(&format!("web-{ordinal}"));
    }
    assert_eq!(
        writes(&web),
        [apply(&web, 1), apply(&web, 0)],
        "the highest one was refused"
    );
    web.applied("data-web-1");
    assert_eq!(writes(&web), [apply(&web, 0)]);
}

#[test]
fn it_is_complete_when_every_replica_had_its_turn() {
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
fn users_read_whose_pods_they_have_to_delete() {
    let mut web = web();
    web.done("data-web-2");
    let progress = plan(&web).progress;
    assert_eq!(
        (progress.ready.holds, progress.reconciling.holds, progress.ready.reason),
        (false, true, "OnDelete")
    );
    let message = "1 of 3 replicas are ready; waits for somebody to delete web-1, web-0";
    assert_eq!(progress.ready.message, message);
    let listed = &progress.claims[0];
    assert_eq!(
        (listed.state, listed.reason.as_str(), listed.message.as_str()),
        (
            ClaimState::Pending,
            "OnDelete",
            "follows when Pod web-1 has been deleted"
        )
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
        "revision {}: 3 claims of data follow, each when its Pod has been deleted",
        web.target()
    );
    assert_eq!(events(&web), [(Reason::ClaimsStaged, staged)]);
}

#[test]
fn a_long_list_of_pods_is_cut() {
    let mut web = web();
    web.set.replicas = 5;
    for ordinal in [3, 4] {
        web.add_claim("data", ordinal);
        web.add_pod(ordinal);
    }
    let message = "0 of 5 replicas are ready; waits for somebody to delete web-4, web-3, web-2 and 2 more";
    assert_eq!(plan(&web).progress.reconciling.message, message);
}

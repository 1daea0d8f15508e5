use crate::rollout::fixtures::{apply, complete, web, writes};
use crate::rollout::snapshot::{Resize, Strategy};
use crate::rollout::{Action, SetPartition, Snapshot};
use crate::templates::{Phase, Sync, UpdatePolicy};

fn partition(partition: u32) -> Action {
    Action::SetPartition(SetPartition {
        set_uid: "set-uid".to_owned(),
        resource_version: "100".to_owned(),
        partition: Some(partition),
        lift: false,
    })
}

fn lifted(partition: Option<u32>) -> Action {
    Action::SetPartition(SetPartition {
        set_uid: "set-uid".to_owned(),
        resource_version: "100".to_owned(),
        partition,
        lift: true,
    })
}

/// The set `web`, whose Pods are to change as well and are all held.
fn held() -> Snapshot {
    let mut web = web();
    web.set.held = Some(3);
    web.set.update_revision = "web-2".to_owned();
    web
}

/// Kubernetes replaced the Pod.
fn replaced(web: &mut Snapshot, ordinal: u32) {
    let pod = web.pods.get_mut(&format!("web-{ordinal}")).expect("a Pod");
    pod.revision = "web-2".to_owned();
    pod.ready_since = Some(1000);
}

#[test]
fn the_claims_of_a_replica_come_before_its_pod_and_its_pod_before_the_next_claims() {
    let mut web = held();
    for ordinal in (0..3).rev() {
        let name = format!("data-web-{ordinal}");
        assert_eq!(writes(&web), [apply(&web, ordinal)], "{name} is written");
        web.applied(&name);
        assert_eq!(writes(&web), [], "{name} is waited for");
        web.done(&name);
        assert_eq!(writes(&web), [partition(ordinal)], "web-{ordinal} is released");
        web.set.held = Some(ordinal);
        assert_eq!(writes(&web), [], "web-{ordinal} is waited for");
        replaced(&mut web, ordinal);
    }
    assert_eq!(writes(&web), [lifted(Some(0))]);
    web.set.held = None;
    assert_eq!(writes(&web), [complete(&web)]);
    web.phase(Phase::Complete);
    assert_eq!(writes(&web), []);
}

#[test]
fn a_replica_is_over_when_its_pod_has_been_ready_long_enough_by_a_status_of_now() {
    let over = |change: fn(&mut Snapshot)| {
        let mut web = held();
        web.done("data-web-2");
        web.set.held = Some(2);
        replaced(&mut web, 2);
        change(&mut web);
        writes(&web) == [apply(&web, 1)]
    };
    assert!(over(|_| {}));
    assert!(
        !over(|web| web.set.status_is_current = false),
        "the status is older than the set"
    );
    assert!(
        !over(|web| web.pods.get_mut("web-2").expect("a Pod").ready_since = None),
        "it is not Ready"
    );
    assert!(!over(|web| web.set.min_ready_seconds = 10), "it is not yet Available");
    assert!(over(|web| (web.set.min_ready_seconds, web.now) = (10, 1010)));
}

#[test]
fn a_canary_ends_at_the_users_partition_and_the_record_stays() {
    let mut web = held();
    web.set.partition = 2;
    web.done("data-web-2");
    web.set.held = Some(2);
    replaced(&mut web, 2);
    assert_eq!(writes(&web), [lifted(Some(2))]);
    web.set.held = None;
    assert_eq!(writes(&web), []);
}

#[test]
fn a_volume_that_is_finished_on_mounting_does_not_hold_the_pod_that_is_to_be_replaced() {
    let mut web = held();
    web.applied("data-web-2").resize = Some(Resize::NodePending);
    assert_eq!(writes(&web), [partition(2)]);
    web.set.status_is_current = false;
    assert_eq!(writes(&web), [], "an older status does not say what is to be replaced");
    web.set.status_is_current = true;
    web.set.held = Some(2);
    replaced(&mut web, 2);
    assert_eq!(writes(&web), [], "the new Pod finishes it");
}

#[test]
fn a_claim_that_is_missing_comes_with_its_pod_and_one_that_is_going_is_waited_for() {
    let mut web = held();
    web.claims.remove("data-web-2");
    assert_eq!(writes(&web), [partition(2)]);
    let mut web = held();
    web.claim("data-web-2").terminating = true;
    assert_eq!(writes(&web), []);
}

/// How a rollout ends, and the partition that is put back.
type End = (&'static str, fn(&mut Snapshot), Option<u32>);

#[test]
fn a_hold_ends_however_the_rollout_does() {
    let ends: [End; 6] = [
        ("it is complete", |web| web.phase(Phase::Complete), Some(0)),
        ("it was withdrawn", |web| web.set.staged = None, Some(0)),
        (
            "claims stay as they are",
            |web| web.set.update_policy = Some(UpdatePolicy::OnClaimDelete),
            Some(0),
        ),
        ("Pods go their own way", |web| web.set.sync = Sync::Async, Some(0)),
        (
            "Pods are replaced by hand",
            |web| web.set.strategy = Strategy::OnDelete,
            None,
        ),
        (
            "the record was forged",
            |web| web.set.staged.as_mut().expect("a record").templates.clear(),
            Some(0),
        ),
    ];
    for (sentence, change, expected) in ends {
        let mut web = held();
        change(&mut web);
        assert!(writes(&web).contains(&lifted(expected)), "{sentence}");
    }
}

#[test]
fn nothing_is_released_while_it_is_paused_or_the_set_is_going_or_is_anothers() {
    let keeps: [fn(&mut Snapshot); 3] = [
        |web| web.set.paused = true,
        |web| web.set.terminating = true,
        |web| web.set.controller = Some(crate::rollout::fixtures::owner("Database", "db", "db-uid")),
    ];
    for change in keeps {
        let mut web = held();
        web.done("data-web-2");
        change(&mut web);
        assert_eq!(writes(&web), []);
    }
}

//! `updateStrategy: OnDelete`: the claims of a replica follow once its Pod was deleted by hand.

use super::text;
use super::words::{act, common, pod};
use crate::gate::ClaimState;
use crate::rollout::Reason;
use crate::rollout::fixtures::{apply, complete, events, refused, rows, state, web as fixture, writes};
use crate::rollout::plan::plan;
use crate::rollout::snapshot::Snapshot;
use crate::templates::Strategy;

/// The target was first seen at 950; all Pods are older.
fn web() -> Snapshot {
    let mut web = fixture();
    web.set.strategy = Strategy::OnDelete;
    web
}

fn word(web: &mut Snapshot, word: &str, numbers: &[u32]) {
    match (word, numbers) {
        ("no start", []) => web.previous.as_mut().unwrap().started = None,
        // By the API server.
        ("staged before", [time]) => web.staged_before = Some((*time).into()),
        _ => common(web, word, numbers),
    }
}

/// A change of the Pod of the middle replica, and whether its claim is written.
const FOLLOWS: &str = "
    no change                                                      |                                      |
    the Pod does not exist                                         | no Pod 1                             | grow 1
    the Pod is being deleted                                       | ending 1                             | grow 1
    the Pod was created after staging                              | Pod created 1 951                    | grow 1
    the Pod was created before staging                             | Pod created 1 949                    |
    the Pod was created in the same second                         | Pod created 1 950                    |
    the start is unknown                                           | Pod created 1 951, no start          |
    the Pod does not exist, and the rollout is paused              | no Pod 1, paused                     |
    // By the time of the API server.
    without a report, the API server knows the time of staging \
        | Pod created 1 951, nothing reported, staged before 950 | grow 1
    the Pod was created after staging, and before the first report | Pod created 1 931, staged before 930 | grow 1
    the Pod was created before staging                             | Pod created 1 930, staged before 930 |
    the manager that staged the change has written again since     | Pod created 1 951, staged before 990 | grow 1
";

#[test]
fn claim_follows_when_its_pod_was_deleted_after_staging() {
    for [row, change, expected] in rows(FOLLOWS) {
        let mut web = web();
        act(&mut web, change, word);
        let found: Vec<String> = writes(&web).into_iter().map(|action| text(&web, action)).collect();
        assert_eq!(found.join(", "), expected, "{row}");
    }
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

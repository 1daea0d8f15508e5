//! `ReCreate`: the steps for a replica, and every state of the world in which a crash can leave it.

use super::done;
use super::recreate::{check_rows, created_anew, of_class, of_recreate, reclassed};
use crate::gate::PodManagement;
use crate::rollout::snapshot::Snapshot;
use crate::rollout::{Action, EvictReason, plan};
use crate::templates::{StagedError, keys};

fn marked(web: &mut Snapshot, name: &str) {
    let revision = web.label().to_string();
    web.claim(name).recreated_for = Some(revision);
}

/// The mark of an earlier staging of the same templates.
fn marked_before(web: &mut Snapshot, name: &str) {
    let label = format!("{}.bcdfg", web.target());
    web.claim(name).recreated_for = Some(label);
}

/// We have deleted the PVC, and its Pod keeps it.
fn deleted(web: &mut Snapshot, name: &str) {
    marked(web, name);
    web.claim(name).terminating = true;
    web.claim(name).deleted = Some(960);
    web.claim(name).finalizers = vec!["kubernetes.io/pvc-protection".to_owned()];
}

/// Two templates: `data` and `logs`, both with another class.
fn two(web: &mut Snapshot) {
    let mut logs = of_class("slow", "1Gi");
    logs.name = "logs".to_owned();
    web.set.live.push(logs);
    let mut logs = of_class("fast", "1Gi");
    logs.name = "logs".to_owned();
    web.stage(vec![of_class("fast", "1Gi"), logs]);
    for ordinal in 0..3 {
        web.add_claim("logs", ordinal);
        web.claim(&format!("logs-web-{ordinal}")).created = 800;
        web.add_pod(ordinal);
    }
}

/// The same StatefulSet with Pods that change all at a time.
pub(super) fn parallel() -> Snapshot {
    let mut web = reclassed();
    web.set.pod_management = PodManagement::Parallel;
    web
}

/// The words for marked and deleted PVCs.
pub(super) fn of_steps(web: &mut Snapshot, word: &str, numbers: &[u32]) {
    match (word, numbers) {
        ("two", []) => two(web),
        ("marked", [ordinal]) => marked(web, &format!("data-web-{ordinal}")),
        ("marked logs", [ordinal]) => marked(web, &format!("logs-web-{ordinal}")),
        ("deleted", [ordinal]) => deleted(web, &format!("data-web-{ordinal}")),
        ("deleted logs", [ordinal]) => deleted(web, &format!("logs-web-{ordinal}")),
        _ => of_recreate(web, word, numbers),
    }
}

fn word(web: &mut Snapshot, word: &str, numbers: &[u32]) {
    match (word, numbers) {
        ("marked before", [ordinal]) => marked_before(web, &format!("data-web-{ordinal}")),
        ("marked for another", []) => web.claim("data-web-2").recreated_for = Some("older".to_owned()),
        ("unmarking denied", []) => {
            web.recreate.denied = Some(("failed to remove the mark: no".to_owned(), 1001));
        }
        ("denied", []) => web.recreate.denied = Some(("no".to_owned(), 1001)),
        ("unreadable", []) => (web.set.staged, web.set.unreadable) = (None, Some(StagedError::Uid)),
        _ => of_steps(web, word, numbers),
    }
}

const STEPS: &str = "
    nothing was done | | mark data-web-2 |
    marked | marked 2 | delete data-web-2 |
    the highest replica only grows, and another Pod is not Ready | staged slow 2, unready 0 | apply data-web-0 2Gi \
        | data-web-0 is Pending: waiting for its turn
    marked for another revision | marked for another | unmark data-web-2 |
    marked for an earlier staging of the same templates | marked before 2 | unmark data-web-2 |
    a mark is to be removed, and that was denied: the retry is not due | marked before 2, unmarking denied \
        | ClaimRolloutStalled | ReCreateStopped: failed to remove the mark: no
    deleted for an earlier staging: not by us, and its data may be needed | deleted 2, marked before 2 | \
        | waiting: data-web-2 is Terminating: is being deleted
    another PVC is being deleted for an earlier staging: its mark stays (S10) | deleted 0, marked before 0 | \
        | web-2 waits to be re-created: data-web-0 is Terminating
    a marked PVC belongs to somebody else | marked before 0, foreign 0 | ClaimForeign, ClaimRolloutStalled \
        | data-web-0 is Foreign: owned by Backup b
    marked, and now an obstacle | marked 2, unready 1 | | web-2 waits to be re-created: Pod web-1 is not Ready
    marked, and now paused | marked 2, paused | unmark data-web-2 | Paused
    marked, and now the PVCs cannot be listed: another one may have the name | marked 2, unlisted \
        | ClaimRolloutStalled | ListFails: Failed to read PVCs: no answer
    marked, and now withdrawn | marked 2, withdrawn | unmark data-web-2, ClaimRolloutWithdrawn | Withdrawn
    marked, and now OnClaimDelete | marked 2, NewPVCs, OnClaimDelete | unmark data-web-2, ClaimsStaged |
    marked, and now withdrawn: the removal was denied, and its retry is not due | marked 2, withdrawn, denied \
        | ClaimRolloutWithdrawn | Withdrawn
    deleted, and now withdrawn: nothing is written | deleted 2, withdrawn | ClaimRolloutWithdrawn | Withdrawn
    marked, and now nothing of the staged change is understood | marked 2, unreadable | ClaimRolloutStalled |
";

#[test]
fn recreate_after_a_crash_takes_the_next_step() {
    check_rows(reclassed, STEPS, word);
    check_rows(parallel, STEPS, word);
}

#[test]
fn steps_name_uid_version_and_label() {
    let mut web = reclassed();
    let label = web.label().to_string();
    let [Action::MarkClaim(mark)] = &plan(&web).actions[..] else {
        panic!("expected a mark");
    };
    let named = [&*mark.name, &mark.uid, &mark.resource_version, &mark.label.to_string()];
    assert_eq!(named, ["data-web-2", "data-web-2-uid", "7", &label]);
    marked(&mut web, "data-web-2");
    web.claim("data-web-2").resource_version = "8".to_owned();
    let [Action::DeleteClaim(delete)] = &plan(&web).actions[..] else {
        panic!("expected a deletion");
    };
    let named = [
        &*delete.name,
        &delete.uid,
        &delete.resource_version,
        &delete.label.to_string(),
    ];
    assert_eq!(named, ["data-web-2", "data-web-2-uid", "8", &label]);
    deleted(&mut web, "data-web-2");
    let [Action::Evict(evict)] = &plan(&web).actions[..] else {
        panic!("expected an eviction");
    };
    assert_eq!([&*evict.pod, &evict.uid], ["web-2", "web-2-uid"]);
    assert_eq!(evict.claim, ("data-web-2".to_owned(), "data-web-2-uid".to_owned()));
    assert_eq!(evict.reason, EvictReason::ReCreated);
}

#[test]
fn replicas_are_re_created_one_after_the_other() {
    let mut web = reclassed();
    let mut steps = Vec::new();
    for _ in 0..20 {
        for ordinal in (0..3).rev() {
            if web.claims[&format!("data-web-{ordinal}")]
                .labels
                .get(keys::REVISION)
                .is_none()
            {
                of_recreate(&mut web, "may evict", &[ordinal]);
                break;
            }
        }
        let step = done(&web);
        steps.push(step.clone());
        let name = step.split_whitespace().last().unwrap_or_default().to_owned();
        match step.split_whitespace().next() {
            Some("mark") => marked(&mut web, &name),
            Some("delete") => deleted(&mut web, &name),
            Some("evict") => created_anew(&mut web, name.parse().expect("an ordinal")),
            _ => break,
        }
    }
    let of = |ordinal: u32| {
        let name = format!("data-web-{ordinal}");
        [
            format!("mark {name}"),
            format!("delete {name}"),
            format!("evict {ordinal}"),
        ]
    };
    let expected: Vec<String> = [2, 1, 0]
        .into_iter()
        .flat_map(of)
        .chain(["complete".to_owned()])
        .collect();
    assert_eq!(steps, expected);
}

//! `ReCreate` after a PVC was deleted, and after a crash there: the next step, whatever has changed meanwhile.

use super::recreate::{check_rows, created_anew, of_class, reclassed};
use super::recreate_steps::{of_steps, parallel};
use super::words::{claim, pod};
use crate::rollout::fixtures::template;
use crate::rollout::snapshot::Snapshot;
use crate::rollout::volume_snapshot::EvictionAnswer;

const DELETED: &str = "
    deleted, and the Pods were read by a watch | deleted 2, live unread | ask live |
    deleted | deleted 2 | evict 2 |
    deleted, and now a template is added | adds logs, deleted 2 | \
        | Pod web-2 is evicted when the staged template logs is live
    deleted, and the controller was never asked about the eviction | deleted 2, no answer | evict 2 |
    deleted, and now another Pod is not Ready: the Pod runs on | deleted 2, unready 0 | \
        | web-2 waits to be re-created: Pod web-2 is evicted when all others are there: Pod web-0 is not Ready
    deleted, and the eviction was denied | deleted 2, not evicted 1001 | \
        | web-2 waits to be re-created: failed to evict Pod web-2: the budget
    deleted, and the retry of the eviction is due | deleted 2, not evicted 1000 | evict 2 |
    deleted, and now paused: it is finished | deleted 2, paused | evict 2 | Paused
    deleted, and now InPlace: it is finished | deleted 2, NewPVCs, InPlace | apply data-web-1 1Gi, evict 2 |
    deleted by somebody else: no reason to evict | terminating 2 | \
        | waiting: data-web-2 is Terminating: is being deleted
    deleted, but the PVC does not belong to the set | deleted 2, foreign 2 | |
    the watch of PVCs is late: this Pod uses the next one | deleted 2, Pod created 2 961 | \
        | web-2 waits to be re-created: data-web-2 is being deleted
    the Pod was created in the second of the deletion: no watch is that late | deleted 2, Pod created 2 960 | evict 2 |
    the Pod was created in the second of the deletion: the watch may be late \
        | deleted 2, deleted at 2 980, Pod created 2 980 | | web-2 waits to be re-created: data-web-2 is being deleted
    evicted: the Pod ends | deleted 2, ending 2, unready 2 | \
        | web-2 waits to be re-created: data-web-2 is being deleted, to be created anew; it waits for Pod web-2
    the Pod has ended, and a finalizer keeps the PVC | deleted 2, kept 2, no Pod 2 | \
        | web-2 waits to be re-created: data-web-2 is being deleted, to be created anew; it waits for finalizer \
            example.com/keep
    the Pod and the PVC do not exist | missing 2, no Pod 2, may evict 1 | | waiting: Pod web-2 does not exist
    the PVC exists again, and is not bound | created anew 2, unbound 2, no Pod 2, may evict 1 | \
        | waiting: Pod web-2 does not exist
    the PVC exists again, and the watch shows the Pod of before | PVC anew 2, may evict 1 | \
        | web-1 waits to be re-created: Pod web-2 is older than its PVC
    the Pod runs, and is not Ready | created anew 2, unready 2, may evict 1 | \
        | web-1 waits to be re-created: Pod web-2 is not Ready
    the Pod is Ready: the next replica | created anew 2, may evict 1 | mark data-web-1 |
    one PVC of two is marked | two, marked 2 | mark logs-web-2 |
    both are marked | two, marked 2, marked logs 2 | delete data-web-2 |
    one of two is deleted | two, deleted 2, marked logs 2 | delete logs-web-2 |
    one of two is deleted, and now paused: the replica is finished | two, deleted 2, paused | mark logs-web-2 |
    one of two is deleted, and now below the partition: the other one stays | two, deleted 2, partition 3 | evict 2 |
    both are deleted | two, deleted 2, deleted logs 2 | evict 2 |
    one of two needs it: the other one is kept | two, created anew 0 1 2, old logs | mark logs-web-2 |
    all are created anew, and the last Pod is not Ready: not complete | created anew 0 1 2, unready 0 | \
        | RollingOut: 3 of 3 replicas are ready; waiting: Pod web-0 is not Ready
    all are created anew, and all Pods are Ready | created anew 0 1 2 | complete |
    complete, and a Pod fails later | created anew 0 1 2, Complete, unready 0 | ClaimRolloutComplete | Complete
    aborted with InPlace: the mark is removed | marked 2, InPlace, staged slow 2, done 0 1 2, Complete \
        | unmark data-web-2, ClaimRolloutComplete |
";

fn word(web: &mut Snapshot, word: &str, numbers: &[u32]) {
    match (word, numbers) {
        ("not evicted", [retry]) => web.not_evicted = Some(("the budget".to_owned(), (*retry).into())),
        ("deleted at", [2, time]) => claim(web, 2).deleted = Some((*time).into()),
        ("kept", [2]) => claim(web, 2).finalizers.push("example.com/keep".to_owned()),
        ("PVC anew", [2]) => {
            let before = pod(web, 2).clone();
            created_anew(web, 2);
            web.pods.insert(before.name.clone(), before);
        }
        ("old logs", []) => {
            let mut logs = template("logs", "1Gi");
            logs.spec = of_class("slow", "1Gi").spec;
            web.set.live[1] = logs;
            web.recreate.eviction = Some(("web-2-new".to_owned(), EvictionAnswer::Allowed));
        }
        _ => of_steps(web, word, numbers),
    }
}

#[test]
fn recreate_after_a_deletion_takes_the_next_step() {
    check_rows(reclassed, DELETED, word);
    check_rows(parallel, DELETED, word);
}

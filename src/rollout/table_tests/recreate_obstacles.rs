//! `ReCreate`: every obstacle before the first step for a replica.

use super::recreate::{check_rows, of_recreate, reclassed};
use super::words::pod;
use crate::rollout::fixtures::owner;
use crate::rollout::snapshot::{Sibling, Snapshot};
use crate::rollout::volume_snapshot::EvictionAnswer;

const OBSTACLES: &str = "
    another Pod is not Ready | unready 0 | \
        | RollingOut: 0 of 3 replicas are ready; web-2 waits to be re-created: Pod web-0 is not Ready
    another Pod does not exist | no Pod 1 | | web-2 waits to be re-created: Pod web-1 does not exist
    another Pod is of another set | Pod of others 1 | ClaimForeign, ClaimRolloutStalled \
        | web-2 is not re-created: data-web-1 is Foreign: mounted by Pod web-1 of another StatefulSet
    another Pod is being deleted | ending 1 | | web-2 waits to be re-created: Pod web-1 is being deleted
    another Pod is not available yet | min ready 30, Pod ready since 1 980 | \
        | web-2 waits to be re-created: Pod web-1 has not been Ready for 30 seconds yet
    another Pod is one of a late watch: its PVC is new | created 1 900 | \
        | web-2 waits to be re-created: Pod web-1 is older than its PVC
    another PVC is missing | missing 0 | | web-2 waits to be re-created: data-web-0 is Missing
    another PVC is being deleted, not by us | terminating 0 | \
        | web-2 waits to be re-created: data-web-0 is Terminating
    another PVC is not bound | spec fast 0, unbound 0 | | web-2 waits to be re-created: data-web-0 is Unbound
    another PVC is being expanded | spec fast 0, applied 0, ControllerResizeInProgress 0, staged fast 2, applied 0 | \
        | web-2 waits to be re-created: data-web-0 is Expanding
    another PVC does not belong to the set: reported before anything is deleted | foreign 0 \
        | ClaimForeign, ClaimRolloutStalled | web-2 is not re-created: data-web-0 is Foreign: owned by Backup b
    the PVC does not belong to the set | foreign 2 | ClaimForeign | ClaimForeign: data-web-2: owned by Backup b
    the PVC can be that of another set | sibling | mark data-web-2 |
    a Job uses the PVC | backup | | web-2 waits to be re-created: Pod backup uses data-web-2 as well
    the Pod is being deleted | ending 2 | | web-2 waits to be re-created: the Pod is being deleted
    the Pod itself is not Ready: all others are | unready 2 | mark data-web-2 |
    there is no Pod: nothing is to be evicted | no Pod 2 | mark data-web-2 |
    the status of the set is old | outdated status | \
        | web-2 waits to be re-created: the StatefulSet controller has not seen the last change
    a template is added too | adds logs | ClaimRolloutStalled \
        | ReCreateStopped: web-2 is not re-created: the staged change also adds template logs
    the update strategy is OnDelete | OnDelete | | OnDelete:
    the update strategy is OnDelete, and the Pod was deleted by hand | OnDelete, Pod created 2 960 \
        | ClaimRolloutStalled | ReCreateStopped: web-2 is not re-created: it needs the update strategy RollingUpdate
    the update strategy is Recreate | Recreate | ClaimRolloutStalled \
        | ReCreateStopped: web-2 is not re-created: it needs the update strategy RollingUpdate
    paused | paused | | Paused:
    the last step was denied: the retry is not due | deletion denied 1001 | ClaimRolloutStalled \
        | ReCreateStopped: web-2 is not re-created: failed to delete data-web-2: no
    the last step was denied: the retry is due | deletion denied 1000 | mark data-web-2 |
    the eviction was not asked for | no answer | ask eviction of web-2 |
    the eviction was asked for another Pod | may evict 1 | ask eviction of web-2 |
    a PodDisruptionBudget allows no eviction | not now | \
        | RollingOut: 0 of 3 replicas are ready; web-2 waits to be re-created: no eviction now: 429 violates the budget
    the right to evict is missing | no right | ClaimRolloutStalled \
        | ReCreateStopped: web-2 is not re-created: failed to evict Pod web-2: cannot create pods/eviction
    the only replica | replicas 1 | ClaimRolloutStalled \
        | ReCreateStopped: web-0 is not re-created: this is the only replica, and its data would be lost: set the \
            annotation claim-rollout.io/recreate-snapshot
";

fn word(web: &mut Snapshot, word: &str, numbers: &[u32]) {
    let answered = |answer| Some(("web-2-uid".to_owned(), answer));
    match (word, numbers) {
        ("Pod of others", [ordinal]) => pod(web, *ordinal).controller = Some(owner("StatefulSet", "b", "b-uid")),
        ("sibling", []) => {
            web.siblings = vec![Sibling {
                set: "b".to_owned(),
                templates: vec!["data-web".to_owned()],
            }];
        }
        ("backup", []) => {
            let mut backup = pod(web, 2).clone();
            (backup.name, backup.uid) = ("backup".to_owned(), "backup-uid".to_owned());
            backup.controller = Some(owner("Job", "backup", "job-uid"));
            web.pods.insert("backup".to_owned(), backup);
        }
        ("deletion denied", [retry]) => {
            web.recreate.denied = Some(("failed to delete data-web-2: no".to_owned(), (*retry).into()));
        }
        ("not now", []) => {
            web.recreate.eviction = answered(EvictionAnswer::NotNow("429 violates the budget".to_owned()));
        }
        ("no right", []) => {
            web.recreate.eviction = answered(EvictionAnswer::Denied("cannot create pods/eviction".to_owned()));
        }
        _ => of_recreate(web, word, numbers),
    }
}

#[test]
fn recreate_with_an_obstacle_deletes_nothing() {
    check_rows(reclassed, OBSTACLES, word);
}

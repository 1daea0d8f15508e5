//! Claims and Pods: what the next claim waits for, and which Pod is named.

use super::words::common;
use super::{check, check_with};
use crate::rollout::fixtures::web;
use crate::templates::{Ready, Revision, Strategy};

const PODS: &str = "
    a Pod that does not become Ready stops the next replica | done 2, old 1 0, unready 2                  |
    the claim of a Pod that is not Ready comes first, because its disk may be full | done 2, old 2 1 0, unready 0 \
        | grow 0, nudge 2
    also with an outdated status                            | done 2, old 1 0, outdated status, unready 0 | grow 0
    also if a higher Pod is being created                   | done 2, old 1 0, no Pod 2, unready 0        | grow 0
    with an outdated status all other claims wait, because their Pods may be about to change | done 2, outdated status \
        |
    when that Pod is Ready again, the order is as before    | done 2, old 2 1 0, done 0                   | nudge 2
    not if its claim is below the partition                 | done 2, old 1 0, partition 1, unready 0     | grow 1
    also with Parallel                                      | done 2, old 1 0, Parallel, unready 0        | grow 0
    a claim in motion is finished before it                 | applied 2, unready 0                        |
    not if only the node has work to do, which may wait for a Pod | node pending 2, unready 0 | grow 0
    no Pod is waited for if only claims change              | done 2, unready 2                           | grow 1
    a Pod must be Ready for minReadySeconds                 | done 2, old 1 0, min ready 200              |
    minReadySeconds do not matter if only claims change     | done 2, min ready 200                       | grow 1
    a Pod that is being deleted is not Ready                | done 2, old 1 0, ending 2, unready 2        |
    a Pod that is being deleted cannot finish the file system, so the next claim follows \
        | applied 2, file system pending 2, ending 2 | grow 1
    the rollout is paused in the middle                     | done 2, old 1 0, paused                     |
    the rollout is complete although Pods are outdated: the gate is open | done 2 1 0, old 0, Complete \
        | ClaimRolloutComplete
    with Parallel, claims below a stuck one continue, and no Pod is waited for \
        | old 2 1 0, Parallel, denied at 1000, done 1 | grow 0, FailedToPatchPVC
    with Parallel, claims below a stuck one follow one after the other \
        | old 2 1 0, Parallel, denied at 1000, applied 1 | FailedToPatchPVC
";

#[test]
fn claims_wait_for_pods_that_change() {
    check(PODS);
}

const NUDGES: &str = "
    a Pod waited, and its claims are ready                    | done 2, old 2 1 0               | nudge 2
    the Pod was named                                         | done 2, old 2 1 0, named 2      |
    the Pod was named in a previous rollout                   | done 2, old 2 1 0, named before | nudge 2
    its claims are no longer ready: the annotation is removed | old 2 1 0, named 2              | grow 2, nudge none
    the named Pod was replaced: the annotation stays          | done 2, old 1 0, named 2        | grow 1
    only the node has work to do, perhaps when a Pod mounts the volume | old 2 1 0, node pending 2 | nudge 2
    Pods do not wait for claims                               | done 2, old 2 1 0, Async        | grow 1
    the rollout is paused: the gate is closed                 | done 2, old 2 1 0, paused       |
    no Pod below the partition is named                       | done 2, old 2 1 0, partition 3  |
    with Parallel, Kubernetes replaces Pods that are not Ready first, since 1.37 \
        | old 2 1 0, Parallel, MaxUnavailable, unready 0, done 0 | grow 2, nudge 0
    with OrderedReady, Kubernetes replaces no Pod while one is not Ready | old 2 1 0, unready 0, done 0 | grow 2
    the last claim: the phase changes the StatefulSet as well | done 2 1 0, old 0               | complete
";

#[test]
fn ready_names_a_pod_whose_claims_became_ready() {
    check_with(web, NUDGES, |web, word, numbers| match word {
        "named before" => {
            let revision = Revision::from_text("another");
            web.set.ready = Some(Ready { revision, ordinal: 2 });
        }
        _ => common(web, word, numbers),
    });
}

const RECREATE: &str = "
    one claim after the other, and no Pod is waited for | done 2, old 2 1 0                         | grow 1
    a claim that needs a Pod does not stop the next one | done 2, old 2 1 0, node pending 1         | grow 0
    all Pods may be deleted                             | done 2, old 2 1 0, done 0, node pending 1 | nudge 0
    no longer all Pods may be deleted                   | done 2, old 2 1 0, done 0, named 0        | grow 1, nudge none
    the partition does not matter                       | done 2, old 2 1 0, partition 3            | grow 1
";

#[test]
fn recreate_names_a_pod_when_all_claims_are_ready() {
    let recreated = || {
        let mut web = web();
        web.set.strategy = Strategy::Recreate;
        web
    };
    check_with(recreated, RECREATE, common);
}

//! Pods that are replaced before their PVCs.

use super::words::{act, common, pod};
use crate::rollout::early_pods::WaitingPods;
use crate::rollout::fixtures::{rows, web};
use crate::rollout::plan;
use crate::rollout::snapshot::Snapshot;

fn word(web: &mut Snapshot, word: &str, numbers: &[u32]) {
    match word {
        // The Pod `web-2` is created anew, with the new revision.
        "replaced" => {
            let pod = pod(web, 2);
            "web-1".clone_into(&mut pod.revision);
            "new".clone_into(&mut pod.uid);
        }
        "image taken back" => "web-0".clone_into(&mut web.set.update_revision),
        _ => common(web, word, numbers),
    }
}

/// The messages of the Events after these states, one after the other.
fn events(states: &str) -> Vec<String> {
    let (mut waiting, mut events) = (WaitingPods::new(), Vec::new());
    for state in states.split(';') {
        let mut web = web();
        act(&mut web, "old 2 1 0", common);
        act(&mut web, state.trim(), word);
        let (early, after) = plan(&web).early_pods.after(&waiting);
        waiting = after;
        events.extend(early.into_iter().map(|event| event.message));
    }
    events
}

/// What happens, the states one after the other, and the number of Events.
const ROWS: &str = "
    nothing happens                                             | ;                                  | 0
    replaced before its PVC                                     | ; replaced                         | 1
    once                                                        | ; replaced; replaced               | 1
    it does not exist between                                   | ; no Pod 2; replaced               | 1
    it is being deleted between                                 | ; ending 2; replaced               | 1
    after its PVC                                               | ; done 2; done 2, replaced         | 0
    it never waited                                             | replaced; replaced                 | 0
    its PVC belongs to another object                           | foreign 2; replaced, foreign 2     | 0
    the image was taken back, so the old Pod is the desired one | ; image taken back                 | 0
    the status is from before the last change                   | ; replaced, outdated status        | 0
    sync is Async                                               | Async; replaced, Async             | 0
    users delete Pods themselves                                | OnDelete; replaced, OnDelete       | 0
    the rollout is complete                                     | ; replaced, Complete               | 0
    below the partition                                         | partition 3; replaced, partition 3 | 0
";

#[test]
fn pod_replaced_before_its_pvc_is_noticed() {
    for [what, states, expected] in rows(ROWS) {
        let events = events(states);
        assert_eq!(events.len().to_string(), expected, "{what}: {events:?}");
        for event in events {
            assert!(
                event.starts_with("Pod web-2 was replaced before data-web-2 was updated"),
                "{what}: {event}"
            );
        }
    }
}

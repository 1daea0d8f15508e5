//! Pods that are replaced before their PVCs.

use super::{middle, old_pods};
use crate::rollout::early_pods::WaitingPods;
use crate::rollout::fixtures::web;
use crate::rollout::plan;
use crate::rollout::snapshot::Snapshot;
use crate::templates::{Phase, Strategy, Sync};

/// The Pod `web-2` is created anew, with the new revision.
fn replaced(web: &mut Snapshot) {
    let pod = web.pods.get_mut("web-2").unwrap();
    "web-1".clone_into(&mut pod.revision);
    "new".clone_into(&mut pod.uid);
}

/// The messages of the Events after these states, one after the other.
fn events(states: &[fn(&mut Snapshot)]) -> Vec<String> {
    let (mut waiting, mut events) = (WaitingPods::new(), Vec::new());
    for state in states {
        let mut web = web();
        old_pods(&mut web, &[2, 1, 0]);
        state(&mut web);
        let (early, after) = plan(&web).early_pods.after(&waiting);
        waiting = after;
        events.extend(early.into_iter().map(|event| event.message));
    }
    events
}

type Row = (&'static str, &'static [fn(&mut Snapshot)], usize);

const ROWS: &[Row] = &[
    ("nothing happens", &[|_| {}, |_| {}], 0),
    ("replaced before its PVC", &[|_| {}, replaced], 1),
    ("once", &[|_| {}, replaced, replaced], 1),
    (
        "it does not exist between",
        &[|_| {}, |web| _ = web.pods.remove("web-2"), replaced],
        1,
    ),
    (
        "it is being deleted between",
        &[
            |_| {},
            |web| web.pods.get_mut("web-2").unwrap().deleted = Some(1030),
            replaced,
        ],
        1,
    ),
    (
        "after its PVC",
        &[
            |_| {},
            middle,
            |web| {
                middle(web);
                replaced(web);
            },
        ],
        0,
    ),
    ("it never waited", &[replaced, replaced], 0),
    (
        "its PVC belongs to another object",
        &[
            |web| web.take_over("data-web-2"),
            |web| {
                replaced(web);
                web.take_over("data-web-2");
            },
        ],
        0,
    ),
    (
        "the image was taken back, so the old Pod is the desired one",
        &[|_| {}, |web| web.set.update_revision = "web-0".to_owned()],
        0,
    ),
    (
        "the status is from before the last change",
        &[
            |_| {},
            |web| {
                replaced(web);
                web.set.status_is_current = false;
            },
        ],
        0,
    ),
    (
        "sync is Async",
        &[
            |web| web.set.sync = Sync::Async,
            |web| {
                replaced(web);
                web.set.sync = Sync::Async;
            },
        ],
        0,
    ),
    (
        "users delete Pods themselves",
        &[
            |web| web.set.strategy = Strategy::OnDelete,
            |web| {
                replaced(web);
                web.set.strategy = Strategy::OnDelete;
            },
        ],
        0,
    ),
    (
        "the rollout is complete",
        &[
            |_| {},
            |web| {
                replaced(web);
                web.phase(Phase::Complete);
            },
        ],
        0,
    ),
    (
        "below the partition",
        &[
            |web| web.set.partition = 3,
            |web| {
                replaced(web);
                web.set.partition = 3;
            },
        ],
        0,
    ),
];

#[test]
fn pod_replaced_before_its_pvc_is_noticed() {
    for (what, states, expected) in ROWS {
        let events = events(states);
        assert_eq!(events.len(), *expected, "{what}: {events:?}");
        for event in events {
            assert!(
                event.starts_with("Pod web-2 was replaced before data-web-2 was updated"),
                "{what}: {event}"
            );
        }
    }
}

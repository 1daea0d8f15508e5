//! The quotas of the namespace, before the first write and after it.

use super::{Row, check, middle};
use crate::claims::quota::Quota;
use crate::gate::{ClaimState, PodManagement};
use crate::rollout::fixtures::{events, gi, refused, web, writes};
use crate::rollout::snapshot::Snapshot;
use crate::rollout::{Quotas, Reason, plan, quota};
use crate::templates::{Quantity, Strategy, keys};

fn leaves(web: &mut Snapshot, left: Quantity) {
    let quota = Quota {
        name: "storage".to_owned(),
        resource: "requests.storage".to_owned(),
        hard: left,
        used: gi(0),
    };
    web.quotas = Quotas::Known(vec![quota]);
}

fn in_class(web: &mut Snapshot, of: &str) {
    leaves(web, gi(2));
    if let Quotas::Known(quotas) = &mut web.quotas {
        quotas[0].resource = format!("{of}.storageclass.storage.k8s.io/requests.storage");
    }
}

fn size(text: &str) -> Quantity {
    text.parse().expect("a size")
}

/// Somebody has lowered the request of a PVC; its driver was asked for more. kubernetes/kubernetes,
/// `pkg/quota/v1/evaluator/core/persistent_volume_claims.go`, `getStorageUsage`.
fn lowered(web: &mut Snapshot, ordinal: u32, from: &str) {
    let claim = web.claim(&format!("data-web-{ordinal}"));
    (claim.request, claim.allocated) = (size("1025Mi"), Some(size(from)));
}

const ROWS: &[Row] = &[
    (
        "the quotas may not be read",
        |web| web.quotas = Quotas::Unchecked,
        "grow 2",
    ),
    (
        "the quota of the class in the old annotation",
        |web| {
            in_class(web, "gold");
            for claim in web.claims.values_mut() {
                claim.class_annotation = Some("gold".to_owned());
            }
        },
        "ClaimRolloutStalled",
    ),
    ("the quota of another class", |web| in_class(web, "gold"), "grow 2"),
    (
        "the quotas are read before the first write",
        |web| web.quotas = Quotas::Unread,
        "",
    ),
    (
        "there are no quotas",
        |web| web.quotas = Quotas::Known(Vec::new()),
        "grow 2",
    ),
    ("all three fit", |web| leaves(web, gi(3)), "grow 2"),
    (
        "two fit: none is written",
        |web| leaves(web, gi(2)),
        "ClaimRolloutStalled",
    ),
    (
        "this was reported before",
        |web| {
            leaves(web, gi(2));
            web.previous.as_mut().unwrap().ready = "WouldExceedQuota".to_owned();
        },
        "",
    ),
    (
        "the same with a Pod that is not Ready, and with Parallel",
        |web| {
            leaves(web, gi(2));
            super::unready(web, 0);
            web.set.pod_management = PodManagement::Parallel;
        },
        "ClaimRolloutStalled",
    ),
    (
        "one was written: the others are tried anyway",
        |web| {
            middle(web);
            leaves(web, gi(0));
        },
        "grow 1",
    ),
    (
        "one was written: the quotas are not read again",
        |web| {
            middle(web);
            web.quotas = Quotas::Unread;
        },
        "grow 1",
    ),
    (
        "one was denied: it is retried in its time",
        |web| {
            leaves(web, gi(0));
            refused(web, 900);
        },
        "grow 2, FailedToPatchPVC",
    ),
    (
        "those below the partition do not grow yet",
        |web| {
            leaves(web, gi(2));
            web.set.partition = 1;
        },
        "grow 2",
    ),
    (
        "with OnDelete, only claims of deleted Pods count",
        |web| {
            leaves(web, gi(1));
            web.set.strategy = Strategy::OnDelete;
            web.pods.remove("web-1");
        },
        "grow 1",
    ),
    (
        "claims that were grown by hand need no more",
        |web| {
            leaves(web, gi(1));
            web.claim("data-web-2").request = gi(2);
            web.claim("data-web-0").request = gi(9);
        },
        "grow 2",
    ),
    (
        "a claim that was lowered counts with what its driver was asked for",
        |web| {
            leaves(web, gi(2));
            lowered(web, 2, "9Gi");
        },
        "grow 2",
    ),
    (
        "what its driver was asked for is less than the target: the rest is needed",
        |web| {
            leaves(web, size("2560Mi"));
            lowered(web, 2, "1536Mi");
        },
        "grow 2",
    ),
    (
        "a byte of the rest does not fit",
        |web| {
            leaves(web, size("2684354559"));
            lowered(web, 2, "1536Mi");
        },
        "ClaimRolloutStalled",
    ),
    (
        "a request that its driver has not seen counts itself",
        |web| {
            leaves(web, gi(3));
            web.claim("data-web-2").allocated = Some(size("512Mi"));
        },
        "grow 2",
    ),
    (
        "claims without a volume cannot be written",
        |web| {
            leaves(web, gi(2));
            web.claim("data-web-0").bound = false;
        },
        "grow 2",
    ),
    (
        "all claims are foreign",
        |web| {
            leaves(web, gi(0));
            for ordinal in 0..3 {
                web.take_over(&format!("data-web-{ordinal}"));
            }
        },
        "ClaimForeign, ClaimForeign, ClaimForeign",
    ),
    ("a quota of another class", |web| in_class(web, "fast"), "grow 2"),
    (
        "the rollout is paused",
        |web| {
            leaves(web, gi(0));
            web.set.paused = true;
        },
        "",
    ),
];

#[test]
fn rollout_beyond_the_quota_does_not_start() {
    check(ROWS);
}

#[test]
fn quotas_are_read_only_where_something_would_grow() {
    type Row = (&'static str, fn(&mut Snapshot), bool);
    let rows: [Row; 6] = [
        ("three grow", |_| {}, true),
        (
            "quotas count as much already",
            |web| {
                for ordinal in 0..3 {
                    lowered(web, ordinal, "2Gi");
                }
            },
            false,
        ),
        (
            "only labels change",
            |web| web.stage(vec![crate::rollout::fixtures::template("data", "1Gi")]),
            false,
        ),
        ("paused", |web| web.set.paused = true, false),
        ("one was written", middle, false),
        ("the quotas are known", |web| leaves(web, gi(0)), false),
    ];
    for (why, change, expected) in rows {
        let mut web = web();
        web.quotas = Quotas::Unread;
        change(&mut web);
        assert_eq!(plan(&web).asks_quotas, expected, "{why}");
    }
}

#[test]
fn rollout_beyond_the_quota_stalls_with_numbers() {
    let mut web = web();
    leaves(&mut web, gi(2));
    let planned = plan(&web);
    let message = "the 3 PVCs that would grow need 3Gi more, and ResourceQuota storage has 2Gi left of 2Gi: raise it, \
                   make room, or stage a smaller size; nothing is written before all of them fit";
    let stalled = &planned.progress.stalled;
    assert_eq!(
        (stalled.holds, stalled.reason, &*stalled.message),
        (true, "WouldExceedQuota", message)
    );
    assert_eq!(planned.requeue_after, Some(quota::RECHECK));
    assert!(
        planned
            .progress
            .claims
            .iter()
            .all(|claim| claim.state == ClaimState::Pending),
        "{:?}",
        planned.progress
    );
    assert_eq!(events(&web), [(Reason::ClaimRolloutStalled, message.to_owned())]);
    assert!(Reason::ClaimRolloutStalled.is_warning());
    // A target that was never reported gets two Events: staged, and stalled.
    web.previous = None;
    let events = events(&web);
    assert_eq!(
        events.iter().map(|(reason, _)| *reason).collect::<Vec<_>>(),
        [Reason::ClaimsStaged, Reason::ClaimRolloutStalled,]
    );
    // A PVC with the label of another revision is not updated.
    web.claim("data-web-2")
        .labels
        .insert(keys::REVISION.to_owned(), "older".to_owned());
    assert_eq!(writes(&web), []);
}

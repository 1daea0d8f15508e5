//! The quotas of the namespace, before the first write and after it.

use super::check_with;
use super::words::{act, claim, common};
use crate::claims::quota::Quota;
use crate::gate::ClaimState;
use crate::rollout::fixtures::{events, gi, template, web, writes};
use crate::rollout::snapshot::Snapshot;
use crate::rollout::{Quotas, Reason, plan, quota};
use crate::templates::{Quantity, keys};

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

fn word(web: &mut Snapshot, word: &str, numbers: &[u32]) {
    let mi = |number: &u32| Quantity::from_bytes(u64::from(*number) << 20);
    match (word, numbers) {
        ("unchecked", []) => web.quotas = Quotas::Unchecked,
        ("unread", []) => web.quotas = Quotas::Unread,
        ("none", []) => web.quotas = Quotas::Known(Vec::new()),
        ("left", [size]) => leaves(web, gi((*size).into())),
        ("left Mi", [size]) => leaves(web, mi(size)),
        ("left bytes", [bytes]) => leaves(web, bytes.to_string().parse().expect("a size")),
        ("left in gold", []) => in_class(web, "gold"),
        ("left in fast", []) => in_class(web, "fast"),
        ("annotated", []) => {
            for claim in web.claims.values_mut() {
                claim.class_annotation = Some("gold".to_owned());
            }
        }
        // Somebody has lowered the request of a PVC; its driver was asked for more. kubernetes/kubernetes,
        // `pkg/quota/v1/evaluator/core/persistent_volume_claims.go`, `getStorageUsage`.
        ("lowered", ordinals) => {
            for ordinal in ordinals {
                claim(web, *ordinal).request = mi(&1025);
            }
        }
        ("allocated Mi", [size]) => claim(web, 2).allocated = Some(mi(size)),
        ("only labels", []) => web.stage(vec![template("data", "1Gi")]),
        _ => common(web, word, numbers),
    }
}

const ROWS: &str = "
    the quotas may not be read                     | unchecked               | grow 2
    the quota of the class in the old annotation   | left in gold, annotated | ClaimRolloutStalled
    the quota of another class                     | left in gold            | grow 2
    the quotas are read before the first write     | unread                  |
    there are no quotas                            | none                    | grow 2
    all three fit                                  | left 3                  | grow 2
    two fit: none is written                       | left 2                  | ClaimRolloutStalled
    this was reported before | left 2, reported WouldExceedQuota |
    the same with a Pod that is not Ready, and with Parallel | left 2, unready 0, Parallel | ClaimRolloutStalled
    one was written: the others are tried anyway   | done 2, left 0          | grow 1
    one was written: the quotas are not read again | done 2, unread          | grow 1
    one was denied: it is retried in its time      | left 0, denied at 900   | grow 2, FailedToPatchPVC
    those below the partition do not grow yet      | left 2, partition 1     | grow 2
    with OnDelete, only claims of deleted Pods count | left 1, OnDelete, no Pod 1 | grow 1
    claims that were grown by hand need no more | left 1, request 2 2, request 0 9 | grow 2
    a claim that was lowered counts with what its driver was asked for | left 2, lowered 2, allocated 2 9 | grow 2
    what its driver was asked for is less than the target: the rest is needed \
        | left Mi 2560, lowered 2, allocated Mi 1536 | grow 2
    a byte of the rest does not fit | left bytes 2684354559, lowered 2, allocated Mi 1536 | ClaimRolloutStalled
    a request that its driver has not seen counts itself | left 3, allocated Mi 512 | grow 2
    claims without a volume cannot be written      | left 2, unbound 0       | grow 2
    all claims are foreign                         | left 0, foreign 0 1 2   | ClaimForeign, ClaimForeign, ClaimForeign
    a quota of another class                       | left in fast            | grow 2
    the rollout is paused                          | left 0, paused          |
";

#[test]
fn rollout_beyond_the_quota_does_not_start() {
    check_with(web, ROWS, word);
}

#[test]
fn quotas_are_read_only_where_something_would_grow() {
    for (why, change, expected) in [
        ("three grow", "", true),
        (
            "quotas count as much already",
            "lowered 0 1 2, allocated 0 2, allocated 1 2, allocated 2 2",
            false,
        ),
        ("only labels change", "only labels", false),
        ("paused", "paused", false),
        ("one was written", "done 2", false),
        ("the quotas are known", "left 0", false),
    ] {
        let mut web = web();
        web.quotas = Quotas::Unread;
        act(&mut web, change, word);
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

//! Claims that are counted and named where nothing is rolled out: with `OnClaimDelete`, and after a withdrawal.

use super::words::{act, common};
use crate::gate::Idle;
use crate::rollout::fixtures::{events, gi, rows, template, web, writes};
use crate::rollout::idle_report::is_reported;
use crate::rollout::plan::plan;
use crate::rollout::snapshot::Snapshot;
use crate::templates::{Phase, UpdatePolicy};

/// 2Gi are staged for new claims.
fn waiting() -> Snapshot {
    let mut web = web();
    web.set.update_policy = Some(UpdatePolicy::OnClaimDelete);
    web
}

const WAITS: &str = "Only PVCs created from now on get the new templates";

/// A change, the counters (current, updated, ready), the end of the message, and whether the set is settled.
const LAGGING: &str = "
    nothing                |            | 3, 0, 0 | ; 3 of 3 PVCs are outdated | true
    one was created again  | done 2     | 2, 1, 1 | ; 2 of 3 PVCs are outdated | true
    one does not exist yet | missing 2  | 3, 0, 0 | ; 2 of 2 PVCs are outdated | false
    all were created again | done 0 1 2 | 0, 3, 3 |                            | true
";

#[test]
fn outdated_claims_are_counted_with_on_claim_delete() {
    for [row, change, expected, lag, settled] in rows(LAGGING) {
        let mut web = waiting();
        act(&mut web, change, common);
        let plan = plan(&web);
        let counts = plan.progress.counts.expect("counters");
        let counts = [counts.current, counts.updated, counts.ready];
        assert_eq!(counts.map(|count| count.to_string()).join(", "), expected, "{row}");
        assert_eq!(plan.progress.by_template[0].updated, counts[1], "{row}");
        assert_eq!(plan.progress.ready.message, format!("{WAITS}{lag}"), "{row}");
        assert_eq!((plan.settled, writes(&web)), (settled == "true", vec![]), "{row}");
        assert!(plan.progress.claims.is_empty(), "no claim is listed: {row}");
    }
}

#[test]
fn claims_are_read_only_where_they_are_reported() {
    for (idle, replicas, expected) in [
        (Idle::OnClaimDelete, 3, true),
        (Idle::Withdrawn, 3, true),
        (Idle::NothingStaged, 3, false),
        (Idle::Terminating, 3, false),
        (Idle::ReCreate, 3, false),
        (Idle::ValidateOnly, 3, false),
        (Idle::OnClaimDelete, u32::MAX, false),
        (Idle::Withdrawn, u32::MAX, false),
    ] {
        let mut web = web();
        web.set.replicas = replicas;
        assert_eq!(is_reported(&idle, &web.set), expected, "{idle:?} {replicas}");
    }
}

/// 2Gi were staged and withdrawn; this claim requests them.
fn dropped(change: &str) -> Snapshot {
    let mut web = web();
    web.applied("data-web-2").size_is_ours = true;
    act(&mut web, change, common);
    web.set.staged = None;
    web
}

/// A change of the claim, and the end of the message.
const ASKING: &str = "
    the request was not reached         |                            | ; data-web-2 still asks for 2Gi, has 1Gi
    the request was reached             | capacity 2 2               |
    the class was not reached | capacity 2 2, our class 2, class gold 2 \
        | ; data-web-2 still asks for attributes class gold, has none
    the volume has another class | capacity 2 2, our class 2, class gold 2, current class slow 2 \
        | ; data-web-2 still asks for attributes class gold, has slow
    another manager owns the class      | capacity 2 2, class gold 2 |
    another manager owns the request    | their size 2               |
    the claim has no volume             | no capacity 2              | ; data-web-2 still asks for 2Gi
    the claim requests the desired size | request 2 1                |
    the claim requests the desired size, and has no volume | request 2 1, no capacity 2 |
";

#[test]
fn claims_not_at_their_request_are_named_when_withdrawn() {
    for [row, change, named] in rows(ASKING) {
        let web = dropped(change);
        let plan = plan(&web);
        let message = &plan.progress.ready.message;
        assert!(
            message.ends_with(&format!("existing PVCs keep their current size{named}")),
            "{row}: {message}"
        );
        let [(_, event)] = &events(&web)[..] else {
            panic!("{row}")
        };
        assert!(event.ends_with(named), "{row}: {event}");
        assert!(plan.settled, "{row}");
    }
    let mut web = dropped("");
    web.claims.remove("data-web-0");
    assert!(plan(&web).settled, "a missing claim is not waited for");
    web.set.replicas = u32::MAX;
    let message = plan(&web).progress.ready.message;
    assert!(
        message.ends_with("existing PVCs keep their current size"),
        "too many claims are not read: {message}"
    );
}

#[test]
fn claims_not_at_their_request_are_named_when_complete() {
    let mut web = web();
    for ordinal in 0..3 {
        web.done(&format!("data-web-{ordinal}"));
    }
    web.phase(Phase::Complete);
    let message = |web: &Snapshot| plan(web).progress.ready.message;
    assert_eq!(message(&web), "All PVCs are updated and ready");
    for ordinal in [0, 1, 2] {
        let claim = web.claim(&format!("data-web-{ordinal}"));
        (claim.request, claim.size_is_ours) = (gi(9), true);
    }
    let expected = "All PVCs are updated and ready; data-web-2 still asks for 9Gi, has 2Gi, \
                    data-web-1 still asks for 9Gi, has 2Gi, data-web-0 still asks for 9Gi, has 2Gi";
    assert_eq!(message(&web), expected);
    web.set.replicas = 4;
    web.set.live = vec![template("data", "1Gi")];
    web.add_claim("data", 3);
    web.done("data-web-3");
    let claim = web.claim("data-web-3");
    (claim.request, claim.size_is_ours) = (gi(9), true);
    assert!(message(&web).ends_with(" and 1 more"), "{}", message(&web));
}

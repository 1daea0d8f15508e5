//! What is counted and named where nothing is rolled out: under `OnClaimDelete`, and after a withdrawal.

use crate::claims::Claim;
use crate::rollout::Idle;
use crate::rollout::fixtures::{events, gi, template, web, writes};
use crate::rollout::lag::is_reported;
use crate::rollout::plan::plan;
use crate::rollout::snapshot::Snapshot;
use crate::templates::{Phase, UpdatePolicy};

/// 2Gi are staged for claims to come.
fn waiting() -> Snapshot {
    let mut web = web();
    web.set.update_policy = Some(UpdatePolicy::OnClaimDelete);
    web
}

const WAITS: &str = "only claims created from now on get the new templates";

/// What has changed, the counters (current, updated, ready), what is said of the lag, and whether it is the end.
type Row = (&'static str, fn(&mut Snapshot), [usize; 3], &'static str, bool);

#[test]
fn claims_that_lag_are_counted_under_on_claim_delete() {
    let rows: [Row; 4] = [
        ("nothing", |_| {}, [3, 0, 0], "; 3 of 3 PVCs have older templates", true),
        (
            "one was created anew",
            |web| web.done("data-web-2"),
            [2, 1, 1],
            "; 2 of 3 PVCs have older templates",
            true,
        ),
        (
            "one that has the template is not there yet",
            |web| _ = web.claims.remove("data-web-2"),
            [3, 0, 0],
            "; 2 of 2 PVCs have older templates",
            false,
        ),
        (
            "every one was created anew",
            |web| {
                for name in ["data-web-0", "data-web-1", "data-web-2"] {
                    web.done(name);
                }
            },
            [0, 3, 3],
            "",
            true,
        ),
    ];
    for (sentence, change, [current, updated, ready], lag, settled) in rows {
        let mut web = waiting();
        change(&mut web);
        let plan = plan(&web);
        let counts = plan
            .progress
            .counts
            .map(|counts| [counts.current, counts.updated, counts.ready]);
        assert_eq!(counts, Some([current, updated, ready]), "{sentence}");
        assert_eq!(plan.progress.by_template[0].updated, updated, "{sentence}");
        assert_eq!(plan.progress.ready.message, format!("{WAITS}{lag}"), "{sentence}");
        assert_eq!((plan.settled, writes(&web)), (settled, vec![]), "{sentence}");
        assert!(
            plan.progress.claims.is_empty(),
            "nothing is wrong with them: {sentence}"
        );
    }
}

#[test]
fn claims_are_looked_at_where_something_is_said_of_them() {
    for (idle, replicas, expected) in [
        (Idle::OnClaimDelete, 3, true),
        (Idle::Withdrawn, 3, true),
        (Idle::NothingStaged, 3, false),
        (Idle::Terminating, 3, false),
        (Idle::OnClaimDelete, u32::MAX, false),
        (Idle::Withdrawn, u32::MAX, false),
    ] {
        let mut web = web();
        web.set.replicas = replicas;
        assert_eq!(is_reported(&idle, &web.set), expected, "{idle:?} {replicas}");
    }
}

/// 2Gi were wished, and are so no more; this claim was asked for them.
fn dropped(change: fn(&mut Claim)) -> Snapshot {
    let mut web = web();
    let claim = web.applied("data-web-2");
    claim.size_is_ours = true;
    change(claim);
    web.set.staged = None;
    web
}

/// What the claim is like, and what is said of it.
type Named = (&'static str, fn(&mut Claim), &'static str);

#[test]
fn claims_that_ask_for_more_are_named_after_a_withdrawal() {
    let rows: [Named; 6] = [
        ("it was not reached", |_| {}, "; data-web-2 still asks for 2Gi, has 1Gi"),
        ("it was reached", |claim| claim.capacity = Some(gi(2)), ""),
        ("somebody else asked", |claim| claim.size_is_ours = false, ""),
        (
            "it has no volume",
            |claim| claim.capacity = None,
            "; data-web-2 still asks for 2Gi",
        ),
        ("it asks for what is wished", |claim| claim.request = gi(1), ""),
        (
            "it asks for what is wished, and has no volume",
            |claim| (claim.request, claim.capacity) = (gi(1), None),
            "",
        ),
    ];
    for (sentence, change, named) in rows {
        let web = dropped(change);
        let plan = plan(&web);
        let message = &plan.progress.ready.message;
        assert!(
            message.ends_with(&format!("claims stay as they are{named}")),
            "{sentence}: {message}"
        );
        let [(_, event)] = &events(&web)[..] else {
            panic!("{sentence}")
        };
        assert!(event.ends_with(named), "{sentence}: {event}");
        assert!(plan.settled, "{sentence}");
    }
    let mut web = dropped(|_| {});
    web.claims.remove("data-web-0");
    assert!(plan(&web).settled, "one that is not there is not waited for");
    web.set.replicas = u32::MAX;
    let message = plan(&web).progress.ready.message;
    assert!(
        message.ends_with("claims stay as they are"),
        "more than anybody looks at: {message}"
    );
}

#[test]
fn claims_that_ask_for_more_are_named_when_complete() {
    let mut web = web();
    for ordinal in 0..3 {
        web.done(&format!("data-web-{ordinal}"));
    }
    web.phase(Phase::Complete);
    let message = |web: &Snapshot| plan(web).progress.ready.message;
    assert_eq!(message(&web), "every claim is at the wish and ready");
    for ordinal in [0, 1, 2] {
        let claim = web.claim(&format!("data-web-{ordinal}"));
        (claim.request, claim.size_is_ours) = (gi(9), true);
    }
    let expected = "every claim is at the wish and ready; data-web-2 still asks for 9Gi, has 2Gi, \
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

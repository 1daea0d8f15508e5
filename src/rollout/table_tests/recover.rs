//! `shrink: Recover`: a growth of ours that was never reached may be taken back (KEP-0661, KEP-1790).

use std::sync::Arc;

use crate::api::Settings;
use crate::claims::Claim;
use crate::rollout::fixtures::{apply, gi, template, web, writes};
use crate::rollout::plan::plan;
use crate::rollout::snapshot::{Resize, Snapshot};
use crate::rollout::{Action, ApplyClaim, SetStaged};
use crate::templates::keys;
use crate::templates::rules::Shrink;
use crate::templates::{Phase, Quantity};

/// 100Gi were staged and applied to the highest claim, which has 1Gi and never gets more; 20Gi are staged now.
fn failed(shrink: Shrink) -> Snapshot {
    let mut web = web();
    web.settings = Arc::new(Settings {
        shrink,
        ..Settings::default()
    });
    web.stage(vec![template("data", "100Gi")]);
    let claim = web.applied("data-web-2");
    claim.request = gi(100);
    claim.size_is_ours = true;
    claim.resize = Some(Resize::ControllerInfeasible);
    web.stage(vec![template("data", "20Gi")]);
    web
}

/// The apply to the highest claim: the size, and the size that is taken back.
fn sized(web: &Snapshot, storage: Quantity, taken_back: Option<u64>) -> [Action; 1] {
    let Action::ApplyClaim(apply) = apply(web, 2) else {
        unreachable!()
    };
    [Action::ApplyClaim(ApplyClaim {
        storage,
        taken_back: taken_back.map(gi),
        ..apply
    })]
}

/// The smallest size in Mi that the API server accepts for a claim that has 20Gi.
const STEP_ABOVE_20_GI: u64 = 20 * 1024 + 1;

fn mi(amount: u64) -> Quantity {
    Quantity::from_bytes(amount << 20)
}

/// A change of the claim, the size in Mi that is written, and the size that is taken back.
type Row = (&'static str, fn(&mut Claim), u64, Option<u64>);

const ROWS: [Row; 11] = [
    ("the expansion failed", |_| {}, 20 * 1024, Some(100)),
    (
        "the expansion has not started",
        |claim| claim.resize = None,
        20 * 1024,
        Some(100),
    ),
    (
        "part of the size was reached",
        |claim| claim.capacity = Some(gi(19)),
        20 * 1024,
        Some(100),
    ),
    (
        "the desired size was reached, and the request was not",
        |claim| claim.capacity = Some(gi(20)),
        STEP_ABOVE_20_GI,
        Some(100),
    ),
    (
        "there is no size between the capacity and the request",
        |claim| (claim.capacity, claim.request) = (Some(gi(20)), mi(STEP_ABOVE_20_GI)),
        STEP_ABOVE_20_GI,
        None,
    ),
    (
        "the request was reached",
        |claim| claim.capacity = Some(gi(100)),
        100 * 1024,
        None,
    ),
    (
        "the capacity is unknown",
        |claim| claim.capacity = None,
        100 * 1024,
        None,
    ),
    (
        "another manager owns the request",
        |claim| claim.size_is_ours = false,
        100 * 1024,
        None,
    ),
    (
        "the claim was never applied",
        |claim| _ = claim.labels.remove(keys::REVISION),
        100 * 1024,
        None,
    ),
    (
        "the request is the desired size",
        |claim| claim.request = gi(20),
        20 * 1024,
        None,
    ),
    (
        "the request is less than the desired size",
        |claim| claim.request = gi(15),
        20 * 1024,
        None,
    ),
];

#[test]
fn growth_of_ours_not_reached_is_taken_back() {
    for (row, change, storage, taken_back) in ROWS {
        let mut web = failed(Shrink::Recover);
        change(web.claim("data-web-2"));
        assert_eq!(writes(&web), sized(&web, mi(storage), taken_back), "{row}");
        let mut web = failed(Shrink::Deny);
        change(web.claim("data-web-2"));
        assert_eq!(
            writes(&web),
            sized(&web, taken_back.map_or(mi(storage), gi), None),
            "{row}"
        );
    }
}

#[test]
fn claim_taken_back_is_waited_for_before_the_rest() {
    let mut web = failed(Shrink::Recover);
    let claim = web.applied("data-web-2");
    (claim.request, claim.resize) = (gi(20), None);
    assert_eq!(writes(&web), []);
    web.claim("data-web-2").capacity = Some(gi(20));
    let [Action::ApplyClaim(next)] = &writes(&web)[..] else {
        panic!("{:?}", writes(&web))
    };
    assert_eq!(
        (next.name.as_str(), next.storage, next.taken_back),
        ("data-web-1", gi(20), None)
    );
}

#[test]
fn staged_change_below_the_live_templates_is_not_allowed() {
    for shrink in [Shrink::Deny, Shrink::Recover] {
        let mut web = failed(shrink);
        web.stage(vec![template("data", "500Mi")]);
        assert_eq!(writes(&web), []);
        assert_eq!(plan(&web).progress.stalled.reason, "StagedChangeNotAllowed");
    }
}

/// 100Gi were staged and withdrawn: the live 1Gi is staged instead. One claim has reached 100Gi, one has not, one was
/// not written.
fn withdrawn() -> Snapshot {
    let mut web = failed(Shrink::Recover);
    let reached = web.applied("data-web-1");
    (reached.request, reached.capacity, reached.size_is_ours) = (gi(100), Some(gi(100)), true);
    let written = web.claim("data-web-1").labels.clone();
    web.claim("data-web-2").labels = written;
    web.stage(vec![template("data", "1Gi")]);
    web
}

#[test]
fn withdrawn_growth_is_taken_back_claim_by_claim() {
    let mut web = withdrawn();
    let least = Quantity::from_bytes((1 << 30) + (1 << 20));
    let expected = [
        ("data-web-2", least, Some(gi(100))),
        ("data-web-1", gi(100), None),
        ("data-web-0", gi(1), None),
    ];
    for (name, storage, taken_back) in expected {
        let [Action::ApplyClaim(apply)] = &writes(&web)[..] else {
            panic!("{name}: {:?}", writes(&web))
        };
        let found = (apply.name.as_str(), apply.storage, apply.taken_back);
        assert_eq!(found, (name, storage, taken_back));
        let label = web.label();
        let claim = web.claim(name);
        claim.labels.insert(keys::REVISION.to_owned(), label.to_string());
        claim.request = storage;
    }
    let change = web.set.staged.clone().unwrap();
    let complete = SetStaged::complete(&web.set, &change);
    assert_eq!(writes(&web), [Action::SetStaged(complete)]);
}

/// A change, and whether the staged change is removed.
type RemovedRow = (&'static str, fn(&mut Snapshot), bool);

#[test]
fn staged_change_that_is_live_is_removed_when_complete() {
    let rows: [RemovedRow; 4] = [
        ("every claim is updated", |_| {}, true),
        (
            "it is not live",
            |web| web.set.live = vec![template("data", "1Gi")],
            false,
        ),
        (
            "a claim was created again",
            |web| _ = web.claim("data-web-0").labels.remove(keys::REVISION),
            false,
        ),
        (
            "the set cannot be written now",
            |web| web.write_refused = Some(("no".to_owned(), 2000)),
            false,
        ),
    ];
    for (row, change, is_removed) in rows {
        let mut web = web();
        for ordinal in 0..3 {
            web.done(&format!("data-web-{ordinal}"));
        }
        web.set.live = vec![template("data", "2Gi")];
        web.phase(Phase::Complete);
        change(&mut web);
        let none = Action::SetStaged(SetStaged::none(&web.set));
        assert_eq!(writes(&web).contains(&none), is_removed, "{row}: {:?}", writes(&web));
        assert_eq!(plan(&web).settled, row == "it is not live", "{row}");
    }
}

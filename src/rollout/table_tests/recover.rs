//! `shrink: Recover`: a growth of ours that was never reached may be taken back (KEP-0661, KEP-1790).

use std::sync::Arc;

use super::words::{act, common};
use crate::api::Settings;
use crate::rollout::fixtures::{apply, gi, rows, template, web, writes};
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

fn mi(amount: u64) -> Quantity {
    Quantity::from_bytes(amount << 20)
}

/// A change of the claim, the size in Mi that is written, and the size in Gi that is taken back.
const ROWS: &str = "
    the expansion failed                                  |                                 | 20480  | 100
    the expansion has not started                         | no resize                       | 20480  | 100
    part of the size was reached                          | capacity 2 19                   | 20480  | 100
    // The smallest size that the API server accepts for a claim that has 20Gi.
    the desired size was reached, and the request was not | capacity 2 20                   | 20481  | 100
    there is no size between the capacity and the request | capacity 2 20, request Mi 2 20481 | 20481  |
    the request was reached                               | capacity 2 100                  | 102400 |
    the capacity is unknown                               | no capacity 2                   | 102400 |
    another manager owns the request                      | their size 2                    | 102400 |
    the claim was never applied                           | unlabelled 2                    | 102400 |
    the request is the desired size                       | request 2 20                    | 20480  |
    the request is less than the desired size             | request 2 15                    | 20480  |
";

#[test]
fn growth_of_ours_not_reached_is_taken_back() {
    for [row, change, storage, taken_back] in rows(ROWS) {
        let (storage, taken_back) = (mi(storage.parse().expect("Mi")), taken_back.parse().ok());
        let recovering = changed(Shrink::Recover, change);
        assert_eq!(writes(&recovering), sized(&recovering, storage, taken_back), "{row}");
        let denying = changed(Shrink::Deny, change);
        let kept = taken_back.map_or(storage, gi);
        assert_eq!(writes(&denying), sized(&denying, kept, None), "{row}");
    }
}

fn changed(shrink: Shrink, change: &str) -> Snapshot {
    let mut web = failed(shrink);
    act(&mut web, change, |web, word, numbers| match (word, numbers) {
        ("no resize", []) => web.claim("data-web-2").resize = None,
        _ => common(web, word, numbers),
    });
    web
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

#[test]
fn staged_change_that_is_live_is_removed_when_complete() {
    for (row, change, is_removed) in [
        ("every claim is updated", "", true),
        ("it is not live", "live 1", false),
        ("a claim was created again", "unlabelled 0", false),
        ("the set cannot be written now", "write denied 2000", false),
    ] {
        let mut web = web();
        act(&mut web, "done 0 1 2", common);
        web.set.live = vec![template("data", "2Gi")];
        web.phase(Phase::Complete);
        act(&mut web, change, common);
        let none = Action::SetStaged(SetStaged::none(&web.set));
        assert_eq!(writes(&web).contains(&none), is_removed, "{row}: {:?}", writes(&web));
        assert_eq!(plan(&web).settled, row == "it is not live", "{row}");
    }
}

//! `shrink: Recover`: a growth of ours that was never reached may be taken back (KEP-0661, KEP-1790).

use std::sync::Arc;

use crate::api::Settings;
use crate::claims::Claim;
use crate::rollout::fixtures::{apply, gi, template, web, writes};
use crate::rollout::plan::plan;
use crate::rollout::snapshot::{Resize, Snapshot};
use crate::rollout::{Action, ApplyClaim};
use crate::templates::keys;
use crate::templates::rules::Shrink;

/// 100Gi were wished and applied to the highest claim, which has 1Gi and will never have more; 20Gi are wished now.
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

/// The apply that the highest claim gets: the size, and what is taken back.
fn sized(web: &Snapshot, storage: u64, taken_back: Option<u64>) -> [Action; 1] {
    let Action::ApplyClaim(apply) = apply(web, 2) else {
        unreachable!()
    };
    [Action::ApplyClaim(ApplyClaim {
        storage: gi(storage),
        taken_back: taken_back.map(gi),
        ..apply
    })]
}

/// What speaks for or against it, the size that is written, and what is taken back.
type Row = (&'static str, fn(&mut Claim), u64, Option<u64>);

#[test]
fn only_a_growth_that_is_ours_and_was_not_reached_is_taken_back_and_only_above_the_capacity() {
    let rows: [Row; 10] = [
        ("it failed", |_| {}, 20, Some(100)),
        ("nobody has begun with it", |claim| claim.resize = None, 20, Some(100)),
        (
            "some of it was reached",
            |claim| claim.capacity = Some(gi(19)),
            20,
            Some(100),
        ),
        ("the wish was reached", |claim| claim.capacity = Some(gi(20)), 100, None),
        (
            "all of it was reached",
            |claim| claim.capacity = Some(gi(100)),
            100,
            None,
        ),
        ("the capacity is not known", |claim| claim.capacity = None, 100, None),
        (
            "somebody else asked for it",
            |claim| claim.size_is_ours = false,
            100,
            None,
        ),
        (
            "no wish was applied to it",
            |claim| _ = claim.labels.remove(keys::REVISION),
            100,
            None,
        ),
        ("as much as the wish failed", |claim| claim.request = gi(20), 20, None),
        ("less than the wish failed", |claim| claim.request = gi(15), 20, None),
    ];
    for (sentence, change, storage, taken_back) in rows {
        let mut web = failed(Shrink::Recover);
        change(web.claim("data-web-2"));
        assert_eq!(writes(&web), sized(&web, storage, taken_back), "{sentence}");
        let mut web = failed(Shrink::Deny);
        change(web.claim("data-web-2"));
        assert_eq!(
            writes(&web),
            sized(&web, taken_back.unwrap_or(storage), None),
            "{sentence}"
        );
    }
}

#[test]
fn a_claim_that_was_brought_back_is_waited_for_and_the_rest_follow() {
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
fn a_record_below_the_live_templates_is_not_honoured_whatever_the_setting() {
    for shrink in [Shrink::Deny, Shrink::Recover] {
        let mut web = failed(shrink);
        web.stage(vec![template("data", "500Mi")]);
        assert_eq!(writes(&web), []);
        assert_eq!(plan(&web).progress.stalled.reason, "RecordUnsound");
    }
}

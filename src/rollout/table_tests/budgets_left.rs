//! PVCs that were left in motion, by a withdrawal or a denial, keep their places in orders and budgets.

use super::budgets::at_once;
use super::words::{act, common};
use crate::claims::progress::Resize;
use crate::rollout::fixtures::{gi, label, rows, web};
use crate::rollout::snapshot::Snapshot;
use crate::rollout::{Action, plan, spending};
use crate::templates::keys;

/// 2Gi were staged before, and the driver works on them; 3Gi are staged now.
fn left_in_motion(web: &mut Snapshot, name: &str) {
    let label = label("earlier").to_string();
    let claim = web.claim(name);
    claim.labels.insert(keys::REVISION.to_owned(), label);
    (claim.request, claim.resize) = (gi(2), Some(Resize::ControllerInProgress));
    let mut wanted = web.set.wanted().to_vec();
    wanted[0].storage = Some(gi(3));
    web.stage(wanted);
}

fn word(web: &mut Snapshot, word: &str, numbers: &[u32]) {
    match (word, numbers) {
        ("left", [ordinal]) => left_in_motion(web, &format!("data-web-{ordinal}")),
        ("budget", [most, others]) => at_once(web, *most, Some(*others)),
        ("labels of others", []) => web.claim("data-web-1").labels = web.set.match_labels.clone(),
        _ => common(web, word, numbers),
    }
}

/// Why nothing is rolled out any more.
const STOPPED: &str = "
    withdrawn                    | withdrawn
    only new PVCs get the change | OnClaimDelete
    the lists fail               | unlisted
";

#[test]
fn claim_in_motion_keeps_its_place_when_the_rollout_stops() {
    for [row, change] in rows(STOPPED) {
        let mut web = web();
        act(&mut web, "budget 1 0, expanding 2", word);
        act(&mut web, change, common);
        let found = plan(&web);
        assert!(found.places.moving.contains_key("data-web-2-uid"), "{row}");
        assert_eq!((found.places.moving.len(), found.settled), (1, false), "{row}");
    }
}

/// What an earlier staging left in motion; the claims that are written.
const LEFT: &str = "
    nothing                            |                                               | data-web-2
    one: it is finished first          | left 1                                        | data-web-1
    one, and two may be in motion      | left 1, at a time 2                           | data-web-1 data-web-2
    the same with a budget of one: it has its place already | budget 1 0, left 1, at a time 2 | data-web-1
    only its node has work to do       | left 1, NodeResizePending 1                   | data-web-2
    the driver cannot do it            | left 1, ControllerResizeInfeasible 1          | data-web-2
    it is reached                      | left 1, capacity 1 2                          | data-web-2
    with Parallel, the new write is denied: it takes its place | left 2, Parallel, denied at 1000 |
    the same, and two may be in motion | left 2, Parallel, denied at 1000, at a time 2 | data-web-1
    with Parallel, the new write is denied, and its Pod is not Ready | left 2, Parallel, denied at 1000, unready 2 0 |
    somebody else grows it             | left 1, labels of others                      | data-web-2
";

#[test]
fn claim_left_in_motion_counts_for_order_and_budgets() {
    for [row, change, expected] in rows(LEFT) {
        let mut web = web();
        act(&mut web, change, word);
        let written = plan(&web).actions.into_iter().filter_map(|action| match action {
            Action::ApplyClaim(apply) => Some(apply.name.to_string()),
            _ => None,
        });
        assert_eq!(written.collect::<Vec<_>>().join(" "), expected, "{row}");
    }
}

#[test]
fn claim_in_motion_keeps_its_place_after_a_withdrawal() {
    for (row, change, places, settled) in [("in motion", None, 1, false), ("reached", Some(gi(2)), 0, true)] {
        let mut web = web();
        at_once(&mut web, 1, Some(0));
        left_in_motion(&mut web, "data-web-1");
        web.set.staged = None;
        web.claim("data-web-1").capacity = change.or(Some(gi(1)));
        let found = plan(&web);
        assert_eq!((found.places.moving.len(), found.settled), (places, settled), "{row}");
        assert_eq!(found.requeue_after, (!settled).then_some(spending::RECHECK), "{row}");
        // Not for ever.
        web.budgets.late.insert("data-web-1-uid".to_owned());
        assert!(plan(&web).settled, "{row}");
    }
}

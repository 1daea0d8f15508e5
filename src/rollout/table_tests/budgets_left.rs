//! PVCs that were left in motion, by a withdrawal or a denial, keep their places in orders and budgets.

use super::budgets::at_once;

use crate::claims::progress::Resize;
use crate::gate::PodManagement;
use crate::rollout::fixtures::{gi, label, refused, web};
use crate::rollout::snapshot::Snapshot;
use crate::rollout::{Action, plan, spending};
use crate::templates::{MaxInMotion, keys};

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

fn denied_in_motion(web: &mut Snapshot) {
    left_in_motion(web, "data-web-2");
    web.set.pod_management = PodManagement::Parallel;
    refused(web, web.now);
}

/// What an earlier staging left in motion; the claims that are written.
type LeftRow = (&'static str, fn(&mut Snapshot), &'static [&'static str]);

const LEFT: &[LeftRow] = &[
    ("nothing", |_| {}, &["data-web-2"]),
    (
        "one: it is finished first",
        |web| left_in_motion(web, "data-web-1"),
        &["data-web-1"],
    ),
    (
        "one, and two may be in motion",
        |web| {
            left_in_motion(web, "data-web-1");
            web.set.max_in_motion = Some(MaxInMotion(2));
        },
        &["data-web-1", "data-web-2"],
    ),
    (
        "the same with a budget of one: it has its place already",
        |web| {
            at_once(web, 1, Some(0));
            left_in_motion(web, "data-web-1");
            web.set.max_in_motion = Some(MaxInMotion(2));
        },
        &["data-web-1"],
    ),
    (
        "only its node has work to do",
        |web| {
            left_in_motion(web, "data-web-1");
            web.claim("data-web-1").resize = Some(Resize::NodePending);
        },
        &["data-web-2"],
    ),
    (
        "the driver cannot do it",
        |web| {
            left_in_motion(web, "data-web-1");
            web.claim("data-web-1").resize = Some(Resize::ControllerInfeasible);
        },
        &["data-web-2"],
    ),
    (
        "it is reached",
        |web| {
            left_in_motion(web, "data-web-1");
            web.claim("data-web-1").capacity = Some(gi(2));
        },
        &["data-web-2"],
    ),
    (
        "with Parallel, the new write is denied: it takes its place",
        denied_in_motion,
        &[],
    ),
    (
        "the same, and two may be in motion",
        |web| {
            denied_in_motion(web);
            web.set.max_in_motion = Some(MaxInMotion(2));
        },
        &["data-web-1"],
    ),
    (
        "with Parallel, the new write is denied, and its Pod is not Ready",
        |web| {
            denied_in_motion(web);
            for pod in ["web-2", "web-0"] {
                web.pods.get_mut(pod).expect("a Pod").ready_since = None;
            }
        },
        &[],
    ),
    (
        "somebody else grows it",
        |web| {
            left_in_motion(web, "data-web-1");
            web.claim("data-web-1").labels = web.set.match_labels.clone();
        },
        &["data-web-2"],
    ),
];

#[test]
fn claim_left_in_motion_counts_for_order_and_budgets() {
    for (row, change, expected) in LEFT {
        let mut web = web();
        change(&mut web);
        let written = plan(&web).actions.into_iter().filter_map(|action| match action {
            Action::ApplyClaim(apply) => Some(apply.name.to_string()),
            _ => None,
        });
        assert_eq!(written.collect::<Vec<_>>(), *expected, "{row}");
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

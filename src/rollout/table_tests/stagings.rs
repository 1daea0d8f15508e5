//! What was withdrawn and is staged again is another staging, and what somebody lowers in the middle of one is reported.

use super::words::{act, common};
use super::{all_done, done};
use crate::gate::{PodManagement, readiness};
use crate::rollout::fixtures::{rows, staging, state, web};
use crate::rollout::plan::plan;
use crate::rollout::snapshot::Snapshot;
use crate::templates::{Phase, Quantity, Revision, RevisionLabel, keys};

/// One step above the capacity of 1Gi: the size that the message of `ClaimInfeasible` names.
fn least() -> Quantity {
    Quantity::from_bytes((1 << 30) + (1 << 20))
}

/// The claim carries the label of another staging of the same templates.
fn of_another_staging(web: &mut Snapshot, name: &str) {
    let label = RevisionLabel {
        staging: staging("xz246"),
        ..web.label()
    };
    let labels = &mut web.claim(name).labels;
    labels.insert(keys::REVISION.to_owned(), label.to_string());
}

/// Somebody lowered the claim after our apply, and the driver has reached that.
fn lowered(web: &mut Snapshot, name: &str) {
    let claim = web.claim(name);
    (claim.request, claim.size_is_ours) = (least(), false);
    claim.capacity = Some(least());
}

/// What became of the highest of three claims, when the others are updated and ready; its state; the actions.
const ROWS: &str = "
    nothing                                  |                                    | Done    | complete
    withdrawn, lowered by hand, staged again | lowered, of another staging        | Pending | grow 2
    the same with another class instead | of another staging, class slow 2, current class slow 2 | Pending | grow 2
    withdrawn and staged again: it has everything but the label | of another staging | Pending | grow 2
    lowered by hand                          | lowered                            | Refused | FailedToPatchPVC
    lowered by hand, and the driver cannot do that either | lowered, capacity 2 1, ControllerResizeInfeasible 2 \
        | Refused | FailedToPatchPVC
    lowered by hand, and the volume has what the template asks for | lowered, capacity 2 2 | Done | complete
    lowered by hand, and raised again        | lowered, request 2 2, capacity 2 2 | Done    | complete
";

#[test]
fn claim_is_updated_by_one_staging_only() {
    for [row, change, expected, actions] in rows(ROWS) {
        let mut web = web();
        all_done(&mut web);
        act(&mut web, change, |web, word, numbers| match word {
            "lowered" => lowered(web, "data-web-2"),
            "of another staging" => of_another_staging(web, "data-web-2"),
            _ => common(web, word, numbers),
        });
        assert_eq!(
            (state(&web, "data-web-2").as_str(), &*done(&web)),
            (expected, actions),
            "{row}"
        );
    }
}

/// The rollout does not end, reports why, and writes nothing; the gate keeps the Pod.
#[test]
fn claim_lowered_by_hand_is_reported_and_keeps_its_pod() {
    for phase in [Phase::RollingOut, Phase::Complete] {
        let mut web = web();
        all_done(&mut web);
        web.phase(phase);
        lowered(&mut web, "data-web-2");
        let plan = plan(&web);
        let why =
            "data-web-2: somebody took its size or class back: set it again, or withdraw the change and stage it anew";
        let claim = &plan.progress.claims[0];
        assert_eq!((claim.state.as_str(), &*claim.reason), ("Refused", "ChangedByOthers"));
        let stalled = &plan.progress.stalled;
        assert_eq!(
            (stalled.holds, stalled.reason, &*stalled.message),
            (true, "ClaimRefused", why)
        );
        assert!(!plan.settled && !plan.progress.ready.holds, "{phase}");
        let template = web.set.wanted()[0].clone();
        assert!(readiness::keeps_pod(&web.claims["data-web-2"], &template, &web.label()));
    }
}

/// As any claim that is stuck.
#[test]
fn claim_lowered_by_hand_stops_only_ordered_ready() {
    for (management, expected) in [(PodManagement::OrderedReady, ""), (PodManagement::Parallel, "grow 1, ")] {
        let mut web = web();
        web.set.pod_management = management;
        web.done("data-web-2");
        lowered(&mut web, "data-web-2");
        assert_eq!(done(&web), format!("{expected}FailedToPatchPVC"));
    }
}

/// Tools compare the two revisions of the report.
#[test]
fn outdated_claim_of_the_same_revision_is_at_the_live_one() {
    let mut web = web();
    all_done(&mut web);
    assert_eq!(plan(&web).progress.current_revision, web.target());
    of_another_staging(&mut web, "data-web-2");
    let progress = plan(&web).progress;
    assert_eq!(progress.current_revision, Revision::of(&web.set.live));
    assert_eq!(progress.update_revision, web.target());
}

/// A report of another staging of the same templates is not about this rollout.
#[test]
fn staging_again_is_another_rollout() {
    let mut web = web();
    assert_eq!(plan(&web).progress.started, 950);
    web.previous.as_mut().unwrap().staging = Some(staging("xz246"));
    assert_eq!(plan(&web).progress.started, web.now);
    assert!(done(&web).contains("ClaimsStaged"), "{}", done(&web));
}

//! Applies that others change on their way: as this controller saw in the reply, and as the claim itself shows to a
//! controller that did not.

use super::done;
use super::words::{act, common};
use crate::gate::ClaimState;
use crate::gate::readiness::CHANGED_BY_OTHERS;
use crate::rollout::fixtures::{gi, refused, rows, state, template, trouble, web};
use crate::rollout::plan::plan;
use crate::rollout::snapshot::{Refusal, Snapshot};
use crate::templates::Phase;

/// What was stored of an apply of 2Gi and the class `fast` to the highest claim, and the state and the actions of a
/// controller that did not see the reply.
const ROWS: &str = "
    all of it was stored                                   |                                    | Modifying:
    all of it is reached                                   | current class fast 2               | Done: grow 1
    only a condition shows that its class is being changed | capacity 2 1, trouble              | Modifying:
    no class: VolumeAttributesClass is off                 | no class 2                         | Pending: grow 2
    an empty class                                         | empty class                        | Pending: grow 2
    somebody has removed the class since, which the volume never got | no class 2, their class 2 | Refused:
    the same, to an empty class                            | empty class, their class 2         | Refused:
    our apply owns a class that it did not request         | class slow 2, current class slow 2 | Pending: grow 2
    somebody has requested another class since (S8) | their class 2, class slow 2, current class slow 2 | Done: grow 1
    our apply owns a size that it did not request          | request 2 1                        | Pending: grow 2
    somebody has requested another size since (S8, KEP-1790) | request 2 1, their size 2, current class fast 2 \
        | Done: grow 1
    an autoscaler has requested a larger size (S8) | request 2 5, their size 2, current class fast 2 | Done: grow 1
";

#[expect(clippy::unnecessary_wraps, reason = "it is a class")]
fn text(class: &str) -> Option<String> {
    Some(class.to_owned())
}

/// The desired template has 2Gi and the class `fast`.
fn classed() -> Snapshot {
    let mut web = web();
    let mut wanted = template("data", "2Gi");
    wanted.volume_attributes_class_name = text("fast");
    web.stage(vec![wanted]);
    web
}

/// Our apply to the highest claim was stored.
fn stored(web: &mut Snapshot) {
    let claim = web.applied("data-web-2");
    (claim.class, claim.class_is_ours, claim.size_is_ours) = (text("fast"), true, true);
    claim.capacity = Some(gi(2));
}

fn word(web: &mut Snapshot, word: &str, numbers: &[u32]) {
    match word {
        "empty class" => web.claim("data-web-2").class = text(""),
        "trouble" => web.claim("data-web-2").troubles = vec![trouble("ModifyVolumeError")],
        "changed" => "9".clone_into(&mut web.claim("data-web-2").resource_version),
        _ => common(web, word, numbers),
    }
}

/// The applies as in [`done`], whatever they request.
fn writes(web: &Snapshot) -> String {
    let names = ["data-web-2", "data-web-1"];
    let done = done(web);
    let written = names.iter().zip(["grow 2", "grow 1"]);
    let written = written.filter(|(name, _)| done.contains(&format!("ClaimName(\"{name}\")")));
    written.map(|(_, word)| word).collect()
}

#[test]
fn claim_with_dropped_fields_is_outdated() {
    for [row, change, expected] in rows(ROWS) {
        let mut web = classed();
        stored(&mut web);
        act(&mut web, change, word);
        let found = format!("{}: {}", state(&web, "data-web-2"), writes(&web));
        assert_eq!(found.trim_end(), expected, "{row}");
    }
}

/// Kubernetes 1.33 drops classes: the rollout is not complete, whatever the last controller saw.
#[test]
fn rollout_with_dropped_classes_is_never_complete() {
    let mut web = classed();
    for name in ["data-web-2", "data-web-1", "data-web-0"] {
        web.done(name);
        web.claim(name).class_is_ours = true;
    }
    let plan = plan(&web);
    assert!(!plan.settled && !plan.progress.ready.holds, "{:?}", plan.progress);
    for written in ["complete", "SetStaged"] {
        assert!(!done(&web).contains(written), "{}", done(&web));
    }
    let counts = plan.progress.counts.unwrap();
    assert_eq!((counts.updated, counts.ready), (0, 0));
}

/// A change of a claim after the end does not make the rollout incomplete (S8).
#[test]
fn complete_rollout_stays_complete_after_a_class_change() {
    let mut web = classed();
    for name in ["data-web-2", "data-web-1", "data-web-0"] {
        web.done(name);
        let claim = web.claim(name);
        (claim.class, claim.current_class) = (text("slow"), text("slow"));
    }
    web.phase(Phase::Complete);
    assert!(plan(&web).settled);
}

/// A denied apply does not matter once the claim was written.
#[test]
fn denied_apply_does_not_affect_an_updated_claim() {
    let mut web = web();
    refused(&mut web, 1000);
    web.applied("data-web-2");
    assert_eq!(state(&web, "data-web-2"), ClaimState::Applied);
    assert_eq!(done(&web), "");
}

/// A template with an empty class requests none.
#[test]
fn claim_of_a_template_with_empty_class_is_updated() {
    let mut web = web();
    let mut wanted = template("data", "2Gi");
    wanted.volume_attributes_class_name = text("");
    web.stage(vec![wanted]);
    web.done("data-web-2");
    assert_eq!(state(&web, "data-web-2"), ClaimState::Done);
}

/// The reply was seen: when and how often, the change of the claim since, the actions, and the requeue.
const SEEN: &str = "
    our label was removed                                   | 1000 3 |                 | FailedToPatchPVC         | 4
    the claim has changed since, which does not matter      | 1000 3 | changed         | FailedToPatchPVC         | 4
    a label of the template was removed, and ours was not   | 1000 3 | done 2          | FailedToPatchPVC         | 4
    the same, and somebody has changed the claim since (S8) | 1000 3 | done 2, changed | grow 1                   | 300
    the retry is due                                        | 996 3  |                 | grow 2, FailedToPatchPVC | 300
    the retry is due after at most five minutes             | 701 50 |                 | FailedToPatchPVC         | 1
";

#[test]
fn apply_changed_by_others_backs_off() {
    for [row, seen, change, expected, requeue] in rows(SEEN) {
        let mut web = web();
        let (last, attempts) = seen.split_once(' ').expect("two numbers");
        let failed = Refusal {
            label: web.label(),
            resource_version: "7".to_owned(),
            cause: CHANGED_BY_OTHERS.to_owned(),
            message: "label claim-rollout.io/revision b came back empty".to_owned(),
            attempts: attempts.parse().expect("a number"),
            last: last.parse().expect("a time"),
        };
        web.refusals.insert("data-web-2-uid".to_owned(), failed);
        act(&mut web, change, word);
        assert_eq!(done(&web), expected, "{row}");
        let plan = plan(&web);
        assert_eq!(plan.requeue_after, requeue.parse().ok(), "{row}");
        if expected == "grow 1" {
            continue;
        }
        let claim = &plan.progress.claims[0];
        assert_eq!(
            (claim.state.as_str(), &*claim.reason),
            ("Refused", "ChangedByOthers"),
            "{row}"
        );
        let stalled = &plan.progress.stalled;
        let message = "data-web-2: label claim-rollout.io/revision b came back empty";
        assert_eq!(
            (stalled.holds, stalled.reason, &*stalled.message),
            (true, "ClaimRefused", message),
            "{row}"
        );
    }
}

//! What others change of an apply on its way (the design's sections 3.3 and 5.2): by what this controller saw of the reply,
//! and by what the claim itself says to one that did not.

use super::done;
use crate::claims::Claim;
use crate::rollout::fixtures::{gi, refused, state, template, trouble, web};
use crate::rollout::plan::plan;
use crate::rollout::readiness::ClaimState;
use crate::rollout::snapshot::{Refusal, Snapshot};
use crate::templates::Phase;

/// What became of the claim of the highest replica, of which 2Gi and the class `fast` were asked for. Nobody remembers a
/// reply. Its state, and what is done.
type Row = (&'static str, fn(&mut Claim), &'static str);

const ROWS: &[Row] = &[
    ("all of it was stored", |_| {}, "Modifying: "),
    (
        "all of it is there",
        |claim| claim.current_class = text("fast"),
        "Done: grow 1",
    ),
    (
        "a condition alone says that its class is being changed",
        |claim| {
            claim.capacity = Some(gi(1));
            claim.troubles = vec![trouble("ModifyVolumeError")];
        },
        "Modifying: ",
    ),
    (
        "no class: VolumeAttributesClass is off",
        |claim| claim.class = None,
        "Pending: grow 2",
    ),
    ("an empty class", |claim| claim.class = text(""), "Pending: grow 2"),
    (
        "a class that our apply owns, and did not ask for",
        |claim| (claim.class, claim.current_class) = (text("slow"), text("slow")),
        "Pending: grow 2",
    ),
    (
        "a class that somebody has asked for since (S8)",
        |claim| {
            claim.class_is_ours = false;
            (claim.class, claim.current_class) = (text("slow"), text("slow"));
        },
        "Done: grow 1",
    ),
    (
        "a size that our apply owns, and did not ask for",
        |claim| claim.request = gi(1),
        "Pending: grow 2",
    ),
    (
        "a size that somebody has asked for since (S8, KEP-1790)",
        |claim| {
            (claim.request, claim.size_is_ours) = (gi(1), false);
            claim.current_class = text("fast");
        },
        "Done: grow 1",
    ),
    (
        "a larger size, by an autoscaler (S8)",
        |claim| {
            (claim.request, claim.size_is_ours) = (gi(5), false);
            claim.current_class = text("fast");
        },
        "Done: grow 1",
    ),
];

#[expect(clippy::unnecessary_wraps, reason = "it is a class")]
fn text(class: &str) -> Option<String> {
    Some(class.to_owned())
}

/// Of each claim 2Gi and the class `fast` are asked for.
fn classed() -> Snapshot {
    let mut web = web();
    let mut wanted = template("data", "2Gi");
    wanted.volume_attributes_class_name = text("fast");
    web.stage(vec![wanted]);
    web
}

/// Our apply of the highest claim was stored.
fn stored(web: &mut Snapshot) -> &mut Claim {
    let claim = web.applied("data-web-2");
    (claim.class, claim.class_is_ours, claim.size_is_ours) = (text("fast"), true, true);
    claim.capacity = Some(gi(2));
    claim
}

/// The same words for the apply, whatever it asks for.
fn writes(web: &Snapshot) -> String {
    let names = ["data-web-2", "data-web-1"];
    let done = done(web);
    let written = names.iter().zip(["grow 2", "grow 1"]);
    let written = written.filter(|(name, _)| done.contains(&format!("ClaimName(\"{name}\")")));
    written.map(|(_, word)| word).collect()
}

#[test]
fn claim_whose_fields_were_dropped_is_not_at_the_wish() {
    for (row, change, expected) in ROWS {
        let mut web = classed();
        change(stored(&mut web));
        let found = format!("{}: {}", state(&web, "data-web-2"), writes(&web));
        assert_eq!(found, *expected, "{row}");
    }
}

/// 1.33 drops classes: whatever the last controller saw, it is not complete.
#[test]
fn rollout_whose_classes_were_dropped_is_never_complete() {
    let mut web = classed();
    for name in ["data-web-2", "data-web-1", "data-web-0"] {
        web.done(name);
    }
    let plan = plan(&web);
    assert!(!plan.settled && !plan.progress.ready.holds, "{:?}", plan.progress);
    assert!(!done(&web).contains("SetRecord"), "{}", done(&web));
    let counts = plan.progress.counts.unwrap();
    assert_eq!((counts.updated, counts.ready), (0, 0));
}

/// Whoever changes a claim when the rollout is complete does not make it incomplete (S8).
#[test]
fn complete_rollout_stays_so_when_somebody_changes_a_class() {
    let mut web = classed();
    for name in ["data-web-2", "data-web-1", "data-web-0"] {
        web.done(name);
        let claim = web.claim(name);
        (claim.class, claim.current_class) = (text("slow"), text("slow"));
    }
    web.phase(Phase::Complete);
    assert!(plan(&web).settled);
}

/// Only what others made of an apply is told by what the claim is like since.
#[test]
fn apply_that_was_denied_is_no_reply() {
    let mut web = web();
    refused(&mut web, 1000);
    web.applied("data-web-2");
    assert_eq!(state(&web, "data-web-2"), ClaimState::Applied);
    assert_eq!(done(&web), "");
}

/// A template without a class, or with an empty one, asks for none.
#[test]
fn claim_of_which_no_class_was_asked_is_at_the_wish() {
    let mut web = web();
    let mut wanted = template("data", "2Gi");
    wanted.volume_attributes_class_name = text("");
    web.stage(vec![wanted]);
    web.done("data-web-2");
    assert_eq!(state(&web, "data-web-2"), ClaimState::Done);
}

/// The reply was seen: when, how often, the claim as it is now, its state, what is done, and when it is looked at again.
type Seen = (&'static str, u64, u32, fn(&mut Snapshot), &'static str, u64);

const SEEN: &[Seen] = &[
    ("our label was taken away", 1000, 3, |_| {}, "FailedToPatchPVC", 4),
    (
        "the claim has changed since, which says nothing",
        1000,
        3,
        |web| "9".clone_into(&mut web.claim("data-web-2").resource_version),
        "FailedToPatchPVC",
        4,
    ),
    (
        "a label of the template was taken away, and ours was not",
        1000,
        3,
        |web| web.done("data-web-2"),
        "FailedToPatchPVC",
        4,
    ),
    (
        "the same, and somebody has changed the claim since: it is theirs (S8)",
        1000,
        3,
        |web| {
            web.done("data-web-2");
            "9".clone_into(&mut web.claim("data-web-2").resource_version);
        },
        "grow 1",
        300,
    ),
    ("it is due", 996, 3, |_| {}, "grow 2, FailedToPatchPVC", 300),
    (
        "it is due after five minutes at most",
        701,
        50,
        |_| {},
        "FailedToPatchPVC",
        1,
    ),
];

#[test]
fn apply_that_others_changed_is_refused_and_backs_off() {
    for (row, last, attempts, change, expected, requeue) in SEEN {
        let mut web = web();
        let refusal = Refusal {
            revision: web.target(),
            resource_version: "7".to_owned(),
            cause: Refusal::CHANGED_BY_OTHERS.to_owned(),
            message: "label claim-rollout.io/revision b came back empty".to_owned(),
            attempts: *attempts,
            last: *last,
        };
        web.refusals.insert("data-web-2-uid".to_owned(), refusal);
        change(&mut web);
        assert_eq!(done(&web), *expected, "{row}");
        let plan = plan(&web);
        assert_eq!(plan.requeue_after, Some(*requeue), "{row}");
        if *expected == "grow 1" {
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

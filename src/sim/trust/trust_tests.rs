//! The search finds every hole, and nothing else.

use std::sync::atomic::AtomicBool;

use serde_json::json;

use super::judges::{Hole, Judges};
use super::manifests::{REVISED, template};
use super::{TrustTally, play, search};
use crate::templates::{ClaimTemplate, Revision};

fn found(judges: &Judges, sequences: u64) -> Option<String> {
    (0..sequences).find_map(|seed| play(seed, judges, &mut TrustTally::default()).err())
}

#[test]
fn s18_no_sequence_changes_a_pvc() {
    for judges in [
        Judges::policy(None),
        Judges::guard(None).expect("the guard"),
        Judges::both(None, None).expect("both"),
    ] {
        let tried = search((0, 300, 1), &judges, &AtomicBool::new(false)).unwrap_or_else(|trace| panic!("{trace}"));
        assert_eq!(tried.sequences, 300);
        assert!(tried.stored > 120 && tried.stored < tried.requests, "{tried:?}");
        assert_eq!(tried.guarded > 30, judges.guard.is_some(), "{tried:?}");
    }
}

#[test]
fn s18_open_hole_is_found() {
    for hole in [Hole::Status, Hole::Owner, Hole::Rights] {
        for judges in [
            Judges::policy(Some(hole)),
            Judges::guard(Some(hole)).expect("the guard"),
        ] {
            assert!(
                found(&judges, 1_000).is_some_and(|trace| trace.contains("BROKEN S18")),
                "{hole:?} {judges:?}"
            );
        }
    }
}

#[test]
fn replaced_set_is_disturbed_through_a_hole_of_the_guard() {
    let guard = Judges::guard(Some(Hole::Replacing)).expect("the guard");
    let trace = found(&guard, 1_000).expect("a sequence");
    assert!(trace.contains("being replaced"), "{trace}");
}

#[test]
fn s18_hole_in_one_is_closed_by_the_other() {
    for hole in [Hole::Status, Hole::Owner, Hole::Rights] {
        for (of_policy, of_guard) in [(Some(hole), None), (None, Some(hole))] {
            let judges = Judges::both(of_policy, of_guard).expect("both");
            assert_eq!(found(&judges, 300), None, "{hole:?}");
        }
    }
}

#[test]
fn staged_revision_of_alice_is_constant() {
    let templates = ClaimTemplate::list_from_value(json!([template("20Gi")])).expect("a template");
    assert_eq!(Revision::of(&templates).as_str(), REVISED);
}

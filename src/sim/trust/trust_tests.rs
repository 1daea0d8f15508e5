//! The search finds what is there to be found.

use std::sync::atomic::AtomicBool;

use super::store::{REVISED, template};
use super::{Hole, Tried, play, search};
use crate::templates::{ClaimTemplate, Revision};

#[test]
fn s18_no_sequence_of_bobs_requests_changes_a_pvc() {
    let tried = search(0, 2_000, 1, &AtomicBool::new(false)).unwrap_or_else(|story| panic!("{story}"));
    assert_eq!(tried.sequences, 2_000);
    assert!(tried.stored > 1_000 && tried.stored < tried.requests, "{tried:?}");
}

#[test]
fn s18_each_way_that_was_open_is_found_if_it_is_open() {
    for hole in [Hole::Status, Hole::Owner] {
        let found = (0..2_000).find_map(|seed| play(seed, Some(hole), &mut Tried::default()).err());
        assert!(found.is_some_and(|story| story.contains("BROKEN S18")), "{hole:?}");
    }
}

#[test]
fn the_revision_of_alices_wish_is_the_one_that_is_named() {
    let templates = ClaimTemplate::list_from_value(serde_json::json!([template("20Gi")])).expect("a template");
    assert_eq!(Revision::of(&templates).as_str(), REVISED);
}

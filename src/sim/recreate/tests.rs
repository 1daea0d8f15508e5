//! A small part of the search, in every run of the unit tests.

use super::super::bugs::PlantedBug as _;
use super::super::search::{Scoped as _, explore, find};
use super::bugs::AnewBug;
use super::scopes::SCOPES;
use super::search::AnewModel;
use crate::sim::tests::{documented, documents_scopes};

const FEW: usize = 3_000;

#[test]
fn first_states_of_each_scope_hold_guarantees() {
    for scope in SCOPES {
        let explored = explore(&mut AnewModel::of(scope, AnewBug::None), FEW);
        assert!(explored.is_ok(), "{}", explored.expect_err("a path"));
    }
}

#[test]
fn each_planted_bug_is_found() {
    let not_found = |bug: &&AnewBug| find::<AnewModel>(**bug, 100_000).is_none();
    let missed: Vec<&AnewBug> = AnewBug::ALL.iter().filter(not_found).collect();
    assert!(missed.is_empty(), "{missed:?}");
}

#[test]
fn document_counts_scopes_and_planted_bugs() {
    assert_eq!(documented("planted bugs of re-creations"), Some(AnewBug::ALL.len()));
    assert!(documents_scopes("recreate/scopes.rs", SCOPES.len()), "{}", SCOPES.len());
}

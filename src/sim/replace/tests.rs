//! A small part of the search, in every run of the unit tests.

use super::super::bugs::PlantedBug as _;
use super::super::search::{Scoped as _, explore};
use super::bugs::ReplaceBug;
use super::scopes::SCOPES;
use super::search::ReplaceModel;
use crate::sim::tests::{documented, documented_bugs, documents_scopes};

#[test]
fn first_states_of_each_scope_hold_guarantees() {
    for scope in SCOPES {
        let explored = explore(&mut ReplaceModel::of(scope, ReplaceBug::None), 2_000);
        assert!(explored.is_ok(), "{}", explored.expect_err("a path"));
    }
}

/// The race of kubernetes#131284.
#[test]
fn late_reference_is_lost_only_without_the_finalizer() {
    let crashes = SCOPES.iter().find(|scope| scope.name == "crashes").expect("a scope");
    let without_faults = |bug| {
        let mut model = ReplaceModel::of(crashes, bug);
        model.scope.faults = 0;
        explore(&mut model, 100_000)
    };
    let explored = without_faults(ReplaceBug::None).expect("no Pod is lost");
    assert!(explored.exhausted, "{explored}");
    let broken = without_faults(ReplaceBug::NoFinalizer).expect_err("a path").broken;
    assert!(broken.starts_with("S17"), "{broken}");
}

#[test]
fn document_counts_scopes_and_planted_bugs() {
    assert_eq!(documented("planted bugs of replacements"), Some(ReplaceBug::ALL.len()));
    assert!(documents_scopes("replace/scopes.rs", SCOPES.len()), "{}", SCOPES.len());
    let bugs: Vec<&str> = documented_bugs("The model of replacements found these:").collect();
    assert!(bugs.len() > 5, "{bugs:?}");
    for bug in bugs {
        let mut known = ReplaceBug::ALL.iter().map(|known| format!("{known:?}"));
        assert!(known.any(|known| known == bug), "{bug} is not planted");
    }
}

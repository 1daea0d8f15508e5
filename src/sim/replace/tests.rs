//! A small part of the search, in every run of the unit tests.

use super::bugs::ReplaceBug;
use super::machines::Machines;
use super::scopes::SCOPES;
use super::search::explore;
use crate::sim::tests::{documented, documented_bugs, documents_scopes};

fn scope(name: &str) -> super::event::ReplaceScope {
    *SCOPES.iter().find(|scope| scope.name == name).expect(name)
}

#[test]
fn first_states_of_each_scope_hold_guarantees() {
    let mut machines = Machines::default();
    for scope in SCOPES {
        let explored = explore(*scope, 2_000, &mut machines);
        assert!(explored.is_ok(), "{}", explored.expect_err("a path"));
    }
}

/// The race of kubernetes#131284.
#[test]
fn late_reference_is_lost_only_without_the_finalizer() {
    let mut crashes = scope("crashes");
    crashes.faults = 0;
    let explored = explore(crashes, 100_000, &mut Machines::default()).expect("no Pod is lost");
    assert!(explored.exhausted, "{explored}");
    let path = explore(crashes, 100_000, &mut Machines::with(ReplaceBug::NoFinalizer));
    let broken = path.expect_err("a path").broken;
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

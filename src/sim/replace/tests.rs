//! A small part of the search, in every run of the unit tests.

use super::bugs::ReplaceBug;
use super::decision::ReplaceDecisions;
use super::scopes::SCOPES;
use super::search::explore;

fn scope(name: &str) -> super::event::ReplaceScope {
    *SCOPES.iter().find(|scope| scope.name == name).expect(name)
}

#[test]
fn first_states_of_each_scope_hold_guarantees() {
    let mut decisions = ReplaceDecisions::default();
    for scope in SCOPES {
        let explored = explore(*scope, 2_000, &mut decisions);
        assert!(explored.is_ok(), "{}", explored.expect_err("a path"));
    }
}

/// The race of kubernetes#131284.
#[test]
fn late_reference_is_lost_only_without_the_finalizer() {
    let mut crashes = scope("crashes");
    crashes.faults = 0;
    let explored = explore(crashes, 100_000, &mut ReplaceDecisions::default()).expect("no Pod is lost");
    assert!(explored.exhausted, "{explored}");
    let path = explore(crashes, 100_000, &mut ReplaceDecisions::with(ReplaceBug::NoFinalizer));
    let broken = path.expect_err("a path").broken;
    assert!(broken.starts_with("S17"), "{broken}");
}

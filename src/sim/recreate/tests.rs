//! A small part of the search, in every run of the unit tests.

use super::bugs::AnewBug;
use super::decision::AnewDecisions;
use super::run::find;
use super::scopes::SCOPES;
use super::search::explore;

const FEW: usize = 3_000;

#[test]
fn first_states_of_each_scope_hold_guarantees() {
    for scope in SCOPES {
        let explored = explore(scope, FEW, &mut AnewDecisions::with(AnewBug::None));
        assert!(explored.is_ok(), "{}", explored.expect_err("a path"));
    }
}

#[test]
fn each_planted_bug_is_found() {
    for bug in AnewBug::ALL {
        assert!(find(*bug, 100_000).is_some(), "{bug:?} was not found: {}", bug.effect());
    }
}

//! The guarantees as functions: what never happens, and what happens in the end.
//!
//! Each function checks one request of ours, or one trace, and returns which guarantee is broken and why. The functions
//! do not depend on the decision: neither on `plan` nor on its types. So they check unit tests, the simulation in
//! `sim`, its exhaustive exploration, and every other source that knows the requests and the objects before them.
//!
//! | rule | in short | function |
//! |---|---|---|
//! | S1 | never smaller | [`s1_never_smaller`] |
//! | S2 | four fields only | [`s2_four_fields`] |
//! | S3 | we create nothing, and every write names a uid | [`s3_nothing_is_created`] |
//! | S4 | we delete nothing; under `ReCreate` only what is asked | [`s4_nothing_is_deleted`]; [`s4_deletes_only_marked`], [`s4_deletes_as_asked`], [`s4_evicts_only_for_marked`] |
//! | S5 | only claims of the set | [`s5_only_ours`] |
//! | S6 | highest ordinal first, the partition, one replica in motion | [`s6_in_turn`], [`Ledger::s6_order`] |
//! | S7 | a Pod waits for its claims, and for nothing else | [`s7_gate`], [`s7_keeps_no_other`] |
//! | S8 | one write for each staging | [`s8_once`] |
//! | S9 | no write from an outdated view | [`s9_not_stale`], [`Ledger::s9_asked_for`] |
//! | S10 | no write to an object that is being deleted | [`s10_not_terminating`] |
//! | S11 | two controllers | all of these, with two controllers running |
//! | S12 | no needless writes | [`s12_no_write_for_nothing`], [`s12_knows_replies`], [`s12_reads_nothing`], [`s12_writes`] |
//! | S13 | back off, report once | [`s13_backs_off`], [`s13_reports_once`], [`s13_fits`], [`s13_awaits_answers`], [`s13_repeats_failures`] |
//! | S19 | a tool that waits never reports done while Pods wait | [`s19_waits`], [`s19_reports`], [`s19_completes`], [`s19_takes_back`], [`s19_borrows_nothing`] |
//! | S21 | no state comes back without an Event | [`ReportedStates::s21_repeats_none`] |
//! | L1 | the target is reached, and stays | [`l1_reached`], [`l1_follows_hand`] |
//! | L2, L3, L4, L6 | from any state, unblocked, new claims, new target | [`l1_reached`], at the end of such a trace |
//! | L4 | a new claim is created from the staged template | [`l4_created_as_staged`] |
//! | L5 | a stuck replica stops no other | [`l5_stops_no_other`] |
//! | L8 | `ReCreate` takes no second replica away | [`l8_others_are_there`], [`l8_no_second_away`], [`l8_reports_why`] |

mod created;
mod facts;
mod gate;
mod history;
mod ledger;
mod liveness;
mod marks;
mod pods;
mod quota;
mod recreated;
mod requests;
mod tools;
mod turn;

pub use created::l4_created_as_staged;
pub use facts::{Broken, ClaimFacts, Id, PodFacts, Rule, Scene, SetFacts, StatusFacts, Wanted};
pub use gate::{s7_gate, s7_keeps_no_other};
pub use history::{ReportedState, ReportedStates};
pub use ledger::Ledger;
pub use liveness::{
    Attempt, EmittedEvent, Tally, l1_follows_hand, l1_reached, l5_stops_no_other, s12_knows_replies, s12_reads_nothing,
    s12_writes, s13_awaits_answers, s13_backs_off, s13_repeats_failures, s13_reports_once,
};
pub use quota::s13_fits;
pub use recreated::{
    AcceptedFacts, DecidedFacts, l8_no_second_away, l8_others_are_there, l8_reports_why, s4_deletes_as_asked,
    s4_deletes_only_marked, s4_evicts_only_for_marked,
};
pub use requests::{
    Request, What, s1_never_smaller, s2_four_fields, s3_nothing_is_created, s4_nothing_is_deleted, s5_only_ours,
    s8_once, s9_not_stale, s10_not_terminating, s12_no_write_for_nothing,
};
pub use tools::{s19_borrows_nothing, s19_completes, s19_reports, s19_takes_back, s19_waits};
pub use turn::s6_in_turn;

#[cfg(test)]
mod by_hand_tests;
#[cfg(test)]
mod fixtures;
#[cfg(test)]
mod gate_tests;
#[cfg(test)]
mod in_the_way_tests;
#[cfg(test)]
mod ledger_tests;
#[cfg(test)]
mod liveness_tests;
#[cfg(test)]
mod order_tests;
#[cfg(test)]
mod quiet_tests;
#[cfg(test)]
mod requests_tests;
#[cfg(test)]
mod tools_tests;
#[cfg(test)]
mod turn_tests;

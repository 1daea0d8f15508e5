//! What must never happen, and what must happen in the end: the guarantees as functions.
//!
//! Each function judges one request of ours, or one history, and says which guarantee is broken and why. They know
//! nothing of the decision: neither `plan` nor its words. So the same functions judge unit tests, the simulation of
//! `sim`, its exhaustive exploration, and whatever else can tell what was asked for and what was there before.
//!
//! | rule | in short | judged by |
//! |---|---|---|
//! | S1 | never smaller | [`s1_never_smaller`] |
//! | S2 | four fields only | [`s2_four_fields`] |
//! | S3 | nothing is born by us, every write names a uid | [`s3_nothing_is_born`] |
//! | S4 | nothing dies by us | [`s4_nothing_dies`] |
//! | S5 | only the set's claims | [`s5_only_ours`] |
//! | S6 | highest ordinal first, the partition, one replica in motion | [`s6_in_turn`], [`Ledger::s6_order`] |
//! | S7 | a Pod waits for its claims, and for nothing else | [`s7_gate`], [`s7_keeps_no_other`] |
//! | S8 | once for each revision | [`s8_once`] |
//! | S9 | nothing is decided from an older view | [`s9_not_stale`], [`Ledger::s9_asked_for`] |
//! | S10 | the dying are left alone | [`s10_not_the_dying`] |
//! | S11 | two controllers | all of these, with two controllers at work |
//! | S12 | quiet | [`s12_no_write_for_nothing`], [`s12_writes`] |
//! | S13 | block, don't break | [`s13_backs_off`], [`s13_says_once`], [`s13_fits`] |
//! | S19 | a tool that waits never says done while Pods wait | [`s19_waits`], [`s19_borrows_nothing`] |
//! | L1 | the wish is reached, and stays | [`l1_reached`] |
//! | L2, L3, L4, L6 | from anywhere, unblocked, newcomers, abandoned | [`l1_reached`], at the end of such a history |
//! | L5 | what is stuck stops no other | [`l5_stops_no_other`] |

mod facts;
mod gate;
mod ledger;
mod liveness;
mod marks;
mod pods;
mod quota;
mod requests;
mod tools;
mod turn;

pub use facts::{Broken, ClaimFacts, Id, PodFacts, Rule, Scene, SetFacts, StatusFacts, Wanted};
pub use gate::{s7_gate, s7_keeps_no_other};
pub use ledger::Ledger;
pub use liveness::{Attempt, Tally, Told, l1_reached, l5_stops_no_other, s12_writes, s13_backs_off, s13_says_once};
pub use quota::s13_fits;
pub use requests::{
    Request, What, s1_never_smaller, s2_four_fields, s3_nothing_is_born, s4_nothing_dies, s5_only_ours, s8_once,
    s9_not_stale, s10_not_the_dying, s12_no_write_for_nothing,
};
pub use tools::{s19_borrows_nothing, s19_waits};
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

//! Decision one: what becomes of a request that touches a StatefulSet, or a claim or Pod of one.
//!
//! Pure: no I/O, no clock. What the cluster knows comes through [`Lookups`]. A reader begins with [`decide`], which
//! holds the table; [`review`] is what it reads and [`verdict`] what it says.
//!
//! | file | holds |
//! |---|---|
//! | [`review`], `object`, `fields` | the request, and how it is read |
//! | [`settings`](crate::api::settings) | what an administrator may set |
//! | [`decide`] | the table: which row a request is |
//! | `judged` | whether a request is judged: who sends it, whose StatefulSet it is |
//! | `asked`, `target` | what it asks for |
//! | `create` | row C1 |
//! | `ours` | what becomes of our annotations in rows C3, S1 and N1 |
//! | `update`, `withdraw` | rows U0 to U5 |
//! | `newer` | the same beside a staged change of a newer version |
//! | `stage`, `authority`, `checks`, `cause`, `user_keys` | what is asked before a wish is staged |
//! | `new_claims` | row P1 |
//! | `gate` | row G1 |
//! | `seen` | what other decisions read of an object |
//! | `retention` | row R1 |
//! | `validate` | rows N1 and K1 |
//! | [`lookups`] | what may be asked of the cluster |
//! | [`verdict`], `message` | what is said |

pub mod decide;
pub mod lookups;
pub mod review;
pub mod verdict;

mod asked;
mod authority;
mod cause;
mod checks;
mod create;
mod fields;
mod gate;
mod judged;
mod message;
mod new_claims;
mod newer;
pub(crate) mod object;
mod ours;
mod retention;
mod seen;
mod stage;
mod target;
mod update;
mod user_keys;
mod validate;
mod withdraw;

pub use crate::api::settings;
pub use decide::admit;
pub use lookups::{CanI, CannotAsk, Get, Lookups, NoCluster};
pub use review::{Operation, Review};
pub use settings::Settings;
pub use verdict::{Denial, Edit, Remarks, Verdict};

//! Decision one: what becomes of a request that touches a StatefulSet.
//!
//! Pure: no I/O, no clock. What the cluster knows comes through [`Lookups`]. A reader begins with [`decide`], which
//! holds the table; [`review`] is what it reads and [`verdict`] what it says.

pub mod decide;
pub mod lookups;
pub mod message;
pub mod review;
pub mod rules;
pub mod settings;
pub mod verdict;

pub use decide::admit;
pub use lookups::{CanI, CannotAsk, Lookups, NoCluster};
pub use review::{Operation, Review};
pub use settings::Settings;
pub use verdict::{Divert, Edit, Refusal, Verdict};

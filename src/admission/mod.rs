//! Decision one: what becomes of a request that touches a StatefulSet.
//!
//! Pure: no I/O, no clock. What the cluster knows comes through [`Lookups`].

pub mod lookups;

pub use lookups::{CanI, CannotAsk, Lookups, NoCluster};

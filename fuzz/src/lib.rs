//! What the fuzz targets check: one function for each, a law for each line of its documentation.
//!
//! A function takes any bytes, and panics iff a law is broken. `hack/fuzz` says how they are run.

mod admit;
mod answer;
mod bytes;
#[path = "../../e2e-tests/generated/mod.rs"]
mod generated;
mod quantity;
mod staged_change;
mod splice;
mod wire;

pub use admit::admit;
pub use quantity::quantity;
pub use staged_change::staged_change;
pub use splice::splice;
pub use wire::wire;

//! The functions behind the fuzz targets. Each documents its laws.
//!
//! A function accepts any bytes, and panics iff they break a law. `hack/fuzz` runs them.

mod admit;
mod answer;
mod bytes;
#[path = "../../e2e-tests/world/generated/mod.rs"]
mod generated;
mod quantity;
#[cfg(feature = "controller")]
mod read;
mod splice;
mod staged_change;
mod wire;

pub use admit::admit;
pub use quantity::quantity;
#[cfg(feature = "controller")]
pub use read::read;
pub use splice::splice;
pub use staged_change::staged_change;
pub use wire::wire;

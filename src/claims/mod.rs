//! What is known of existing claims, and of the classes behind them.
//!
//! Pure data and functions, as [`templates`](crate::templates), which this folder rests on: both decisions ask the same
//! questions of the same claims.

pub mod claim;
pub mod class;
pub mod compatible;
pub mod ownership;
pub mod progress;
pub mod quota;
pub mod retention;

pub use claim::{Claim, Owner};
pub use class::{AttributesClass, Known, StorageClass};
pub use compatible::{Classes, Obstacle, compatible};
pub use ownership::{Belongs, Foreign, foreign};

//! Existing PVCs, their storage classes and their quotas.
//!
//! Pure data and functions: the policy, the controller and the command line share these checks.

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
pub use ownership::{Belongs, Foreign, belongs, foreign};

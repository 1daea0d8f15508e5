//! Existing PVCs, their storage classes and their quotas.
//!
//! Pure data and functions: the policy, the controller and the command line share these checks.

pub mod claim;
pub mod class;
pub mod compatible;
pub mod limits;
pub mod manager;
pub mod owner;
pub mod ownership;
pub mod progress;
pub mod quota;
pub mod retention;
mod time;

pub use claim::Claim;
pub use class::{AttributesClass, Known, StorageClass};
pub use compatible::{Classes, Obstacle, compatible};
pub use manager::Manager;
pub use owner::Owner;
pub use ownership::{Belongs, Foreign, belongs, foreign};

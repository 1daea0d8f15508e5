//! Claim templates: what they contain, when two of them are equal, which changes are allowed, and the staged change
//! that carries them from the policy to the controller.
//!
//! Pure data and functions: no I/O, no clock. The rest of the crate builds on this folder.

pub mod diff;
mod diff_text;
pub mod keys;
pub mod names;
pub mod pod_volumes;
pub mod quantity;
pub mod ready;
pub mod revision;
pub mod rules;
pub mod show;
pub mod staged_change;
pub mod staging;
pub mod strategy;
pub mod template;
pub mod text;
pub mod user_keys;
pub mod words;

pub use diff::{Change, Diff, FrozenChange, TemplateChange};
pub use keys::{MaxInMotion, ProgressDeadline, ReplaceSet, Restart, Sync, UpdatePolicy};
pub use names::ClaimName;
pub use quantity::Quantity;
pub use ready::{HELD, Ready};
pub use revision::Revision;
pub use rules::{FaultKind, RuleFault, Rules};
pub use staged_change::{Phase, StagedChange, StagedError};
pub use staging::{RevisionLabel, Staging};
pub use strategy::Strategy;
pub use template::{ClaimTemplate, TemplateError};

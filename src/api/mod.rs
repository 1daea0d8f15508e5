//! Formats that users and other programs read and write, and what comes of a call of the Kubernetes API.
//!
//! | file | contains |
//! |---|---|
//! | [`settings`] | the settings of the policy, the webhook and the controller |
//! | `setting_kinds`, `settings_text` | how a setting and the document are read |
//! | [`reasons`] | the reasons of the condition `Ready` |
//! | `calls` | what a call of the Kubernetes API names, and what comes of it |
//! | `replacement` | why a StatefulSet is not replaced, or not yet |
//! | [`difference`] | the differences between two settings documents |
//! | [`time`] | seconds, and their text format |

#[cfg(any(test, not(target_family = "wasm")))]
mod calls;
pub mod difference;
pub mod reasons;
#[cfg(not(target_family = "wasm"))]
pub mod replacement;
mod setting_kinds;
pub mod settings;
mod settings_text;
pub mod time;

#[cfg(any(test, not(target_family = "wasm")))]
pub use calls::{ApiOutcome, SetVersion};
pub use reasons::ReadyReason;
#[cfg(not(target_family = "wasm"))]
pub use replacement::{ReplacementPhase, ReplacementReason};
pub use settings::Settings;
pub use time::Seconds;

#[cfg(test)]
mod schema_tests;

//! What other programs and people read and write: fixed formats, each in one place.
//!
//! | file | holds |
//! |---|---|
//! | [`settings`] | the settings document of the policy, the built-in webhook and the controller |
//! | [`reasons`] | why a rollout is where it is |
//! | [`difference`] | in what two settings documents differ |

pub mod difference;
pub mod reasons;
pub mod settings;

pub use reasons::ReadyReason;
pub use settings::Settings;

#[cfg(test)]
mod schema_tests;

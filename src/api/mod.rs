//! Formats that users and other programs read and write.
//!
//! | file | contains |
//! |---|---|
//! | [`settings`] | the settings of the policy, the webhook and the controller |
//! | [`reasons`] | the reasons of the condition `Ready` |
//! | [`difference`] | the differences between two settings documents |

pub mod difference;
pub mod reasons;
pub mod settings;

pub use reasons::ReadyReason;
pub use settings::Settings;

#[cfg(test)]
mod schema_tests;

//! Formats that users and other programs read and write.
//!
//! | file | contains |
//! |---|---|
//! | [`settings`], `settings_text` | the settings of the policy, the webhook and the controller; how they are read |
//! | [`reasons`] | the reasons of the condition `Ready` |
//! | [`difference`] | the differences between two settings documents |

pub mod difference;
pub mod reasons;
pub mod settings;
mod settings_text;

pub use reasons::ReadyReason;
pub use settings::Settings;

#[cfg(test)]
mod schema_tests;

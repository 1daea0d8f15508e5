//! What the model and a real API server are both asked, and what is compared: so that the model is not a fancy.
//!
//! The end-to-end tests ask both the same random requests, request by request. What the real one answered is kept in
//! `transcript.txt`; the unit tests ask the model all of it again.
//!
//! | file | holds |
//! |---|---|
//! | `request` | the requests |
//! | `words` | wishes as texts, and back |
//! | `model` | the model as one that answers them |
//! | `sight` | what is there, in words that mean the same on both sides |
//! | `speak` | random requests from a seed |
//! | `transcript` | what was asked and answered, as text |

mod model;
mod request;
mod sight;
mod speak;
mod transcript;
mod words;

pub use model::Model;
pub use request::{Door, Edit, Holder, Request, Which};
pub use sight::{ClaimSight, ReportSight, SetSight, Sights, Witness};
pub use speak::sequence;
pub use transcript::{Line, Part, Unreadable};
pub use words::{target_of, templates};

pub use super::api::{Answer, Cause};
pub use super::objects::{Modify, Resize, Target, Want};

#[cfg(test)]
mod tests;

//! The model beside a real API server: both get the same requests, and the answers are compared.
//!
//! The end-to-end tests send the same random requests to both. The answers of the real API server are kept in
//! `transcript.txt`; the unit tests send all of them to the model again.
//!
//! | file | contents |
//! |---|---|
//! | `request` | the requests |
//! | `target_text` | targets as texts, and back |
//! | `model` | executes requests in the model |
//! | `manifests` | the objects of the model, as JSON |
//! | `observed` | the JSON of both sides as texts |
//! | `sequence` | random requests from a seed |
//! | `transcript` | requests and answers as text |

mod manifests;
mod model;
mod observed;
mod request;
mod sequence;
mod target_text;
mod transcript;

pub use model::Model;
pub use observed::{ChangeTracker, ObservedObjects, Revisions, claim_words, report_words, set_words};
pub use request::{Holder, ModelRequest, PolicyMode, SetEdit, WritePrecondition};
pub use sequence::sequence;
pub use target_text::{target_of, templates};
pub use transcript::{TranscriptLine, TranscriptPart, Unreadable};

pub use super::objects::{ModelTarget, ModifyState, ResizeState, Want};
pub use super::write::{ApiAnswer, DenialCause};

#[cfg(test)]
mod tests;

//! Bytes to a typed request, and a verdict to bytes. Admission reads and writes nothing else.
//!
//! | file | contains |
//! |---|---|
//! | [`review`] | the parts of an AdmissionRequest, borrowed from its bytes |
//! | `request`, `object` | decode a request and its objects in one pass |
//! | `fields`, `managed`, `pod` | what only some rows need, decoded on demand |
//! | [`verdict`] | the verdict on a request |
//! | `answer`, `splice` | encode the verdict, and apply its edits to the bytes of the object |

pub mod review;
pub mod verdict;

mod answer;
mod fields;
mod managed;
mod object;
mod pod;
mod request;
mod splice;

pub use crate::json::Error;
pub(crate) use answer::{accept, deny, encode, encode_settings};
pub(crate) use fields::{Strings, strings};
pub(crate) use managed::ManagedEntry;
pub(crate) use object::read;
pub(crate) use request::decode;
pub use review::{About, Annotations, Object, Operation, Review};
pub use verdict::{Denial, Edit, Remarks, Verdict};

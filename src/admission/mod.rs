//! Decision one: the verdict on a request for a StatefulSet, or for a claim or Pod of one.
//!
//! Pure: no I/O, no clock. [`Lookups`] reads the cluster. Start with [`decide`], which contains the table of requests;
//! [`review`] is the input and [`verdict`] the output; [`crate::wire`] decodes the one and encodes the other. The tests are
//! a table, too: `e2e-tests/offline/table`, which `policy.wasm` has to answer alike.
//!
//! | file | contains |
//! |---|---|
//! | [`settings`] | the settings of the administrator |
//! | [`decide`] | the table: finds the row of a request |
//! | `scope` | whether a request is judged: its sender, the owner of the StatefulSet |
//! | `request_templates`, `requested_change` | the templates and the update policy that a request asks for |
//! | `create` | row C1 |
//! | `own_annotations` | our annotations in rows C3, S1 and N1 |
//! | `update`, `withdraw`, `owner_removal` | rows U0 to U5 |
//! | `newer_version` | the same for a staged change of a newer version |
//! | `stage`, `authority`, `checks`, `cause`, `user_keys`, `mounts` | the checks before a change is staged |
//! | `new_claims` | row P1 |
//! | `gate` | row G1 |
//! | `views` | converts objects to the input of the other decisions |
//! | `retention` | row R1 |
//! | `mutable_templates` | rows N1 and K1 |
//! | [`lookups`] | reads from the cluster |
//! | `message`, `staged_message` | the texts of the verdict |
//! | `answer` | bytes in, bytes out |

pub mod decide;
pub mod lookups;

mod answer;
mod authority;
mod cause;
mod checks;
mod create;
mod gate;
mod message;
mod mounts;
mod mutable_templates;
mod new_claims;
mod newer_version;
mod own_annotations;
mod owner_removal;
mod request_templates;
mod requested_change;
mod retention;
mod scope;
mod stage;
mod staged_message;
mod update;
mod user_keys;
mod views;
mod withdraw;

pub use crate::api::settings;
pub use crate::wire::{review, verdict};

pub use answer::{settings_fault, validate, validate_settings};
pub use decide::admit;
pub use lookups::{CanI, CannotAsk, Get, Lookups, NoCluster};
pub use review::{Operation, Review};
pub use settings::Settings;
pub use verdict::{Denial, Edit, Remarks, Verdict};

//! The push ring: what only a control plane, policy.wasm or an installation can show, once for each guarantee, format,
//! denial and sentence of the README. `make test` runs it.

pub(crate) mod admission;
pub(crate) mod built_in;
pub(crate) mod chart;
pub(crate) mod commands;
mod conditions;
pub(crate) mod controller;
mod disk_is_full;
mod doctor;
mod examples;
mod guard;
mod guest_memory;
pub(crate) mod host_is_faithful;
mod is_installed;
pub(crate) mod opt_in;
mod policy_metadata;
pub(crate) mod quick_start;
mod readme;
pub(crate) mod recreate;
pub(crate) mod replacing;
pub(crate) mod reviews;
mod reviews_generated;
mod reviews_mutated;
pub(crate) mod rights;
pub(crate) mod scenarios;
mod table_alike;
mod template_changes;
mod trust;

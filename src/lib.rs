//! Change `volumeClaimTemplates` of a StatefulSet on a stock Kubernetes cluster.
//!
//! Three pure decisions and three faces over them.
//!
//! | decision | where | says |
//! |---|---|---|
//! | `admit` | [`admission`] | what becomes of a request: pass, stage, deny |
//! | `plan` | [`rollout`] | what to do next to bring the claims of a set to its wish |
//! | `gate` | [`gate`] | whether a Pod may be replaced now |
//!
//! | face | where | feature |
//! |---|---|---|
//! | the Kubewarden policy, a waPC guest | `policy` | none: it is what is built for wasm32 |
//! | the controller | `controller` | `controller` |
//! | AdmissionReview over HTTPS | `webhook` | `webhook` |
//! | the shell | `cli` | `cli` |
//!
//! `sim` (feature `sim`) is a model of a cluster in which all three are tried against everything that may go wrong.
//!
//! [`api`] holds what other programs and people write: the settings document.
//!
//! Dependencies point inwards: faces → [`wire`] → decisions → [`api`], [`claims`] (what is known of the claims that exist) →
//! [`templates`], the vocabulary. A reader starts there.

// The exports of a waPC guest need an unsafe attribute; everywhere else there is none.
#![cfg_attr(not(target_family = "wasm"), forbid(unsafe_code))]
#![deny(unsafe_code)]

pub mod admission;
pub mod api;
pub mod claims;
#[cfg(all(feature = "cli", not(target_family = "wasm")))]
pub mod cli;
#[cfg(all(feature = "controller", not(target_family = "wasm")))]
pub mod controller;
pub mod gate;
pub mod json;
#[cfg(target_family = "wasm")]
mod policy;
pub mod rollout;
#[cfg(all(feature = "sim", not(target_family = "wasm")))]
pub mod sim;
pub mod templates;
#[cfg(all(feature = "webhook", not(target_family = "wasm")))]
pub mod webhook;
pub mod wire;

#[cfg(all(test, not(target_family = "wasm")))]
mod house_tests;

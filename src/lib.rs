//! Change `volumeClaimTemplates` of a StatefulSet on a stock Kubernetes cluster.
//!
//! Four pure decisions, and four front ends over them.
//!
//! | decision | where | returns |
//! |---|---|---|
//! | `admit` | [`admission`] | the verdict on a request: pass, stage or deny |
//! | `plan` | [`rollout`] | what to do next to bring the PVCs of a StatefulSet to its target revision |
//! | `gate` | [`gate`] | whether a Pod may be deleted now |
//! | `next` | `replace` | the next step of replacing a StatefulSet by one with the desired templates |
//!
//! | front end | where | feature |
//! |---|---|---|
//! | the Kubewarden policy, a waPC guest | `policy` | none: every build for wasm32 contains it, but for `library` |
//! | the controller | `controller` | `controller` |
//! | AdmissionReview over HTTPS | `webhook` | `webhook` |
//! | the command line | `cli` | `cli` |
//!
//! `packager` (feature `packager`) writes files that are made from the code. No release contains it.
//!
//! `sim` (feature `sim`) is a model of a cluster. It runs the decisions against stale views, crashes and other faults.
//!
//! Dependencies point inwards: front ends → decisions → [`wire`], [`api`], [`claims`] → [`templates`] → [`json`]. [`wire`]
//! is the one folder that reads the bytes of a request and writes those of an answer.
//! Start reading in [`templates`].

// The exports of a waPC guest need an unsafe attribute. There is no other unsafe code.
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
#[cfg(all(any(feature = "controller", feature = "webhook"), not(target_family = "wasm")))]
mod metrics;
#[cfg(all(feature = "packager", not(target_family = "wasm")))]
pub mod packager;
#[cfg(all(target_family = "wasm", not(feature = "library")))]
mod policy;
#[cfg(not(target_family = "wasm"))]
pub mod replace;
#[cfg(any(test, not(target_family = "wasm")))]
pub mod rollout;
#[cfg(all(feature = "sim", not(target_family = "wasm")))]
pub mod sim;
pub mod templates;
#[cfg(all(feature = "webhook", not(target_family = "wasm")))]
pub mod webhook;
pub mod wire;

#[cfg(all(test, not(target_family = "wasm")))]
mod house_tests;

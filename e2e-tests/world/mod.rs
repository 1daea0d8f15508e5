//! A real Kubernetes control plane for tests and for the playground. etcd, API server, controller manager, scheduler,
//! CSI provisioner and resizer are the production programs, built from Go modules by `go/build.sh`. Only the kubelet
//! (kwok: no container runs) and the storage behind the CSI driver (the mock of Kubernetes) are simulated.
//!
//! ```text
//! let world = World::with(Options::default()).shipped_policy().barriers().build().await?;
//! let ns = world.with_set("shop", 3).await?;
//! ...
//! world.stop().await?;
//! ```
//!
//! Any number of control planes run side by side, in one program or several: each has its own folder, and its only TCP
//! port is a free one. However the program ends, it leaves no process behind, and only after a failure the folder with
//! the logs. Linux only.

mod accounts;
pub(crate) mod again;
pub(crate) mod alike;
mod audit;
pub(crate) mod backoff;
pub(crate) mod barrier;
pub(crate) mod book;
mod build;
pub(crate) mod by_minor;
mod certificates;
mod commands;
mod conformance;
mod control_plane;
pub(crate) mod demo;
pub(crate) mod document;
mod driver;
pub(crate) mod engines;
pub(crate) mod exceptions;
mod fields;
mod folder;
pub(crate) mod generated;
pub(crate) mod helm;
mod https;
pub(crate) mod installation;
pub(crate) mod invariants;
mod kubelet;
pub(crate) mod managed_fields;
pub(crate) mod manifests;
pub(crate) mod meddler;
pub(crate) mod namespace;
mod objects;
mod options;
pub(crate) mod policy_host;
mod processes;
mod programs;
pub(crate) mod recorded;
pub(crate) mod repository;
pub(crate) mod reviews_stored;
mod reviews_written;
pub(crate) mod runner;
pub(crate) mod sdk;
pub(crate) mod served;
pub(crate) mod session;
pub(crate) mod shell;
mod upgrade;
mod users;
mod waiting;
pub(crate) mod waits;
pub(crate) mod web;
pub(crate) mod webhook;
pub(crate) mod written;

pub(crate) use audit::{Entry, kinds};
pub(crate) use build::World;
pub(crate) use commands::{Background, Output, words};
pub(crate) use control_plane::{Cluster, MARKER};
pub(crate) use driver::Driver;
pub(crate) use objects::{ATTRIBUTES_CLASSES, EXPANDABLE, FIXED};
pub(crate) use options::{Options, number};
pub(crate) use processes::{Process, Signal, Usage, in_foreground};
pub(crate) use programs::DRIVER;
pub(crate) use users::{POLICY_SERVER, STATEFULSET_CONTROLLER, base64};
pub(crate) use waiting::{PATIENCE, at_rest, eventually, until};

//! The nightly ring: what takes long, needs the programs of others, or repeats a subject of the push ring in more ways.
//! Each module is a part of `make nightly`, by its name.

mod gitops;
mod helm;
mod kubewarden;
mod minors;
mod model;
mod network;
mod openkruise;
mod owners;
mod release;
mod replacing;
mod scale;
mod scenarios;
mod tenants;
mod upgrade;
mod upstream;
mod wapc;

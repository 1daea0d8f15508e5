//! End-to-end tests, against a real control plane.

mod cluster;
mod control_plane;
mod host_is_faithful;
mod installation;
mod is_installed;
mod policy_host;
mod policy_is_called;
mod reviews;
mod reviews_mutated;
mod scenarios;
mod table;

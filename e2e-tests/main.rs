//! End-to-end tests, against a real control plane.

mod admission;
mod alike;
mod built_in;
mod chart;
mod cluster;
mod commands;
mod conditions;
mod control_plane;
mod controller;
mod generated;
mod guest_memory;
mod host_is_faithful;
mod installation;
mod is_installed;
mod play;
mod policy_host;
mod policy_is_called;
mod retention;
mod reviews;
mod reviews_generated;
mod reviews_mutated;
mod rights;
mod scale;
mod scenarios;
mod stage;
mod table;

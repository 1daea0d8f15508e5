//! End-to-end tests, against a real control plane.

mod cluster;
mod control_plane;

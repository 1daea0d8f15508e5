//! End-to-end tests.

mod host_is_faithful;
mod policy_host;

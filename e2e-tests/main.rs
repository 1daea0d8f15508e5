//! End-to-end tests, against a real control plane. The folder of a test is its ring: `cluster/` is part of `make test`,
//! `nightly/` of `make nightly`.

mod cluster;
mod nightly;
mod offline {
    pub(crate) mod table;
}
mod world;

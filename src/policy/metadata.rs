//! policy-metadata.yml as the custom section that policy-server and kwctl read, so that a plain build is ready to load.
//!
//! `kwctl annotate` adds a section of its own, and only one may exist: `CLAIM_ROLLOUT_METADATA=none` builds without.

/// build.rs makes the file; its length is only known here.
const JSON: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/metadata.json"));

#[allow(unsafe_code)]
#[used]
#[unsafe(link_section = "io.kubewarden.metadata")]
static METADATA: [u8; JSON.len()] = {
    let mut section = [0; JSON.len()];
    section.copy_from_slice(JSON);
    section
};

//! See `claim_rollout_fuzz::read`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| claim_rollout_fuzz::read(data));

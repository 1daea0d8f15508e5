//! See `claim_rollout_fuzz::splice`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| claim_rollout_fuzz::splice(data));

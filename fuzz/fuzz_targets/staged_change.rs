//! See `claim_rollout_fuzz::staged_change`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| claim_rollout_fuzz::staged_change(data));

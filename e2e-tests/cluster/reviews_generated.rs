//! Ten thousand generated reviews with every operation, kind and setting, valid and forged staged changes, existing
//! and missing PVCs. policy.wasm answers each like the native code, byte for byte.
//!
//! `GENERATED=2000000 cargo test -p e2e-tests --test e2e cluster::reviews_generated` is a deeper run; a failure prints how to repeat the one
//! case.

use crate::world::alike::{Question, ask_both, ensure_all_kinds};
use crate::world::generated::case;
use crate::world::generated::spelling::spelt;
use crate::world::policy_host::Capabilities;

/// The default number of reviews; `GENERATED` changes it.
const GENERATED: u64 = 10_000;

#[test]
fn generated_reviews_answered_alike_by_wasm_and_native_code() -> anyhow::Result<()> {
    let tally = ask_both("reviews_generated", ("GENERATED", GENERATED), |random| {
        let case = case(random);
        Question {
            payload: spelt(&case.payload(), random).into_bytes(),
            host: Capabilities::answering(case.cluster.clone()),
            native: Box::new(case.cluster),
            origin: "a generated review".to_owned(),
        }
    })?;
    ensure_all_kinds(&tally, &["passed", "warned", "changed", "400", "403"], 100)
}

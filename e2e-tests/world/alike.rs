//! policy.wasm and the native code answer generated reviews the same, byte for byte, and the module never traps.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::thread;

use anyhow::{Context as _, ensure};
use claim_rollout::admission::{self, Lookups};
use serde_json::Value;

use crate::world::generated::choices::Choices;
use crate::world::number;
use crate::world::policy_host::shared_policy;
use crate::world::policy_host::{Capabilities, Module, run};
use crate::world::sdk;

/// SplitMix64: the same numbers on every machine.
pub(crate) struct Random(pub(crate) u64);

impl Choices for Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^= mixed >> 31;
        usize::try_from(mixed % end as u64).unwrap_or(0)
    }
}

/// One review: the payload, the host functions for the guest and for the native code, and where the review comes from.
pub(crate) struct Question {
    pub(crate) payload: Vec<u8>,
    pub(crate) host: Capabilities,
    pub(crate) native: Box<dyn Lookups>,
    pub(crate) origin: String,
}

/// The number of answers of each kind.
pub(crate) type Tally = BTreeMap<&'static str, u64>;

/// Asks both about the review of each seed, on all cores. A failure names the seed and the command that repeats it.
///
/// `SEED` sets the first seed. The variable named `count` sets the number of seeds.
pub(crate) fn ask_both(
    test: &str,
    count: (&str, u64),
    question: impl Fn(&mut Random) -> Question + Sync,
) -> anyhow::Result<Tally> {
    let first = number("SEED")?.unwrap_or(20_260_101);
    let seeds = number(count.0)?.unwrap_or(count.1);
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let (module, question) = (shared_policy()?, &question);
    let one = move |module: &Module, seed: u64| {
        let question = question(&mut Random(seed));
        let (payload, origin) = (question.payload.clone(), question.origin.clone());
        answer(module, question).with_context(|| {
            let file = std::env::temp_dir().join(format!("claim-rollout-{test}-{seed}.json"));
            // Best effort: the seed repeats the case too.
            let _ = std::fs::write(&file, &payload);
            let file = file.display();
            format!(
                "{origin}; the payload is in {file}; again with: SEED={seed} {}=1 cargo test -p e2e-tests --test e2e {test}",
                count.0
            )
        })
    };
    let work = |offset: usize| {
        let mut tally = Tally::new();
        for seed in (first..first + seeds).skip(offset).step_by(threads) {
            count_kinds(&one(&module, seed)?, &mut tally);
        }
        anyhow::Ok(tally)
    };
    let tallies: Vec<anyhow::Result<Tally>> = thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|offset| scope.spawn(move || work(offset))).collect();
        let joined = running.into_iter().map(|thread| thread.join());
        joined
            .map(|tally| tally.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    let mut all = Tally::new();
    for tally in tallies {
        for (kind, count) in tally? {
            *all.entry(kind).or_default() += count;
        }
    }
    Ok(all)
}

/// Fails if one of these kinds occurred too rarely to prove anything. A run of a few seeds is not checked.
pub(crate) fn ensure_all_kinds(tally: &Tally, kinds: &[&str], least: u64) -> anyhow::Result<()> {
    let missing = |kind: &&&str| tally.get(**kind).is_none_or(|count| *count < least);
    let few = tally.get("all").is_none_or(|count| *count < 1000);
    let missing: Vec<&&str> = kinds.iter().filter(missing).collect();
    ensure!(
        few || missing.is_empty(),
        "fewer than {least} of {missing:?}: {tally:?}"
    );
    Ok(())
}

fn count_kinds(answer: &Value, tally: &mut Tally) {
    let mut met = |kind| *tally.entry(kind).or_default() += 1;
    met("all");
    let changed = !answer["mutated_object"].is_null();
    let warned = answer["warnings"].as_array().is_some_and(|lines| !lines.is_empty());
    match answer["code"].as_u64() {
        None if changed => met("changed"),
        None if warned => {}
        None => met("passed"),
        Some(400) => met("400"),
        Some(403) => met("403"),
        Some(_) => met("another code"),
    }
    if warned {
        met("warned");
    }
}

/// Checks that both answers are equal and well-formed, and returns the answer.
fn answer(module: &Module, mut question: Question) -> anyhow::Result<Value> {
    let native = admission::validate(&question.payload, &mut *question.native);
    let wasm = run(module, &question.payload, question.host).map_err(anyhow::Error::msg)?;
    ensure!(
        wasm == native,
        "policy.wasm: {}\nnative:      {}",
        String::from_utf8_lossy(&wasm),
        String::from_utf8_lossy(&native)
    );
    let Ok(answer) = serde_json::from_slice::<Value>(&wasm) else {
        // An object with half a surrogate or an out-of-range number in a part that the policy does not read comes back
        // unchanged. No such payload reaches a policy: the host decodes requests before, and the webhook decodes them
        // after.
        ensure!(
            serde_json::from_slice::<Value>(&question.payload).is_err(),
            "a decodable object was answered with an undecodable one: {}",
            String::from_utf8_lossy(&wasm)
        );
        return Ok(Value::Null);
    };
    sdk::compare(&question.payload, &mut *question.native)?;
    let accepted = answer["accepted"].as_bool().context("a verdict")?;
    let message = answer["message"].as_str().unwrap_or_default();
    ensure!(accepted || !message.is_empty(), "a denial without a message: {answer}");
    ensure!(message.chars().count() <= 2048, "an endless reason: {answer}");
    Ok(answer)
}

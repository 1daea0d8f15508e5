//! Thousands of reviews that nobody wrote: those of `reviews/`, damaged at random. Whatever comes, policy.wasm gives the
//! answer of the native code, byte for byte, and never traps.
//!
//! A failure prints the seed of the one case; `SEED=… MUTATIONS=1 cargo test --test e2e reviews_mutated` is that case alone.

use anyhow::{Context as _, ensure};
use claim_rollout::wire;
use serde_json::{Value, json};

use crate::host_is_faithful::policy;
use crate::policy_host::{Module, run};
use crate::reviews::{Fixture, fixtures};

/// How many, unless `MUTATIONS` says otherwise.
const MUTATIONS: u64 = 2_500;

/// SplitMix64: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not 0.
    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap_or(0)
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

/// Values that have meant trouble somewhere.
fn trouble(random: &mut Random) -> Value {
    let texts = [
        "",
        "0",
        "-1",
        "1Gi",
        "1e3",
        "1024Mi",
        "9223372036854775807",
        "9223372036854775808",
        "1.5Gi",
        "1Zi",
        "InPlace",
        "OnClaimDelete",
        "ReCreate",
        "StatefulSet",
        "UPDATE",
        "CREATE",
        "DELETE",
        "status",
        "data",
        "web",
        "\u{0}",
        "\u{202e}",
        "é",
        "{}",
        "true",
        "system:serviceaccount:claim-rollout:claim-rollout-controller",
    ];
    match random.below(8) {
        0 => Value::Null,
        1 => json!(random.below(2) == 0),
        2 => json!(*random.pick(&[0.0, -0.0, 1e300, 1.5, -1.0])),
        3 => json!(random.next()),
        4 => json!([]),
        5 => json!({}),
        _ => json!(*random.pick(&texts)),
    }
}

/// A pointer to a random value; more often to one that matters.
fn somewhere(value: &Value, random: &mut Random) -> String {
    let mut path = String::new();
    let mut here = value;
    loop {
        let (step, next) = match here {
            Value::Object(fields) if !fields.is_empty() => {
                let keys: Vec<&String> = fields.keys().filter(|key| *key != "managedFields").collect();
                let Some(key) = (!keys.is_empty()).then(|| *random.pick(&keys)) else {
                    return path;
                };
                (key.replace('~', "~0").replace('/', "~1"), &fields[key])
            }
            Value::Array(items) if !items.is_empty() => {
                let index = random.below(items.len());
                (index.to_string(), &items[index])
            }
            _ => return path,
        };
        path = format!("{path}/{step}");
        if random.below(12) == 0 {
            return path;
        }
        here = next;
    }
}

/// One change of the structure.
fn restructure(value: &mut Value, random: &mut Random) {
    let path = somewhere(value, random);
    let other = somewhere(value, random);
    let copy = value.pointer(&other).cloned().unwrap_or_default();
    let Some((parent, key)) = path.rsplit_once('/') else {
        return;
    };
    let key = key.replace("~1", "/").replace("~0", "~");
    let fresh = match random.below(5) {
        0 => copy,
        1 => (0..random.below(200)).fold(trouble(random), |deep, _| json!([deep])),
        _ => trouble(random),
    };
    match (value.pointer_mut(parent), random.below(4)) {
        (Some(Value::Object(fields)), 0) => drop(fields.remove(&key)),
        (Some(Value::Object(fields)), 1) => {
            drop(fields.insert((*random.pick(&["", "name", "unknown", "spec"])).to_owned(), fresh));
        }
        (Some(Value::Array(items)), 0) => items.rotate_left(1),
        (Some(Value::Array(items)), 1) => items.push(fresh),
        (Some(Value::Object(fields)), _) => drop(fields.insert(key, fresh)),
        (Some(Value::Array(items)), _) => drop(key.parse::<usize>().map(|index| items[index] = fresh)),
        _ => {}
    }
}

/// One change of the bytes.
fn scramble(bytes: &mut Vec<u8>, random: &mut Random) {
    let from = random.below(bytes.len() + 1);
    let to = (from + random.below(40)).min(bytes.len());
    let tokens: [&[u8]; 16] = [
        b"{",
        b"}",
        b"[",
        b"]",
        b"\"",
        b"\\",
        b",",
        b":",
        b"null",
        b"1e999",
        b"-",
        b"\\u0000",
        b"\\ud800",
        b"\xff",
        b"\x00",
        b"\"object\":{},",
    ];
    match random.below(6) {
        0 => bytes.truncate(from),
        1 => drop(bytes.drain(from..to)),
        2 => drop(bytes.splice(from..from, random.pick(&tokens).iter().copied())),
        3 => {
            let piece = bytes[from..to].to_vec();
            drop(bytes.splice(from..from, piece));
        }
        4 => drop(bytes.splice(from..to, random.pick(&tokens).iter().copied())),
        _ => {
            if let Some(byte) = bytes.get_mut(from) {
                *byte ^= 1 << random.below(8);
            }
        }
    }
}

/// The damaged payload of this seed.
fn damaged(fixtures: &[Fixture], random: &mut Random) -> (usize, Vec<u8>) {
    let index = random.below(fixtures.len());
    let mut payload = fixtures[index]
        .payload()
        .unwrap_or_else(|| fixtures[index].body.clone());
    if random.below(3) > 0
        && let Ok(mut value) = serde_json::from_slice::<Value>(&payload)
    {
        for _ in 0..=random.below(3) {
            restructure(&mut value, random);
        }
        payload = value.to_string().into_bytes();
    }
    if random.below(2) == 0 {
        for _ in 0..=random.below(3) {
            scramble(&mut payload, random);
        }
    }
    (index, payload)
}

/// The answer of both, once it is known that they are the same and usable.
fn answer(module: &Module, fixture: &Fixture, payload: &[u8]) -> anyhow::Result<Value> {
    let native = wire::validate(payload, &mut fixture.cluster());
    let wasm = run(module, payload, fixture.cluster().host()).map_err(anyhow::Error::msg)?;
    ensure!(
        wasm == native,
        "policy.wasm: {}\nnative:      {}",
        String::from_utf8_lossy(&wasm),
        String::from_utf8_lossy(&native)
    );
    let Ok(answer) = serde_json::from_slice::<Value>(&wasm) else {
        // An object with half a surrogate or a number beyond all bounds in a part that nobody here reads comes back as it
        // came. No such payload reaches a policy: its host has decoded the request before, and the webhook decodes it after.
        ensure!(
            serde_json::from_slice::<Value>(payload).is_err(),
            "what can be decoded was answered with what cannot: {}",
            String::from_utf8_lossy(&wasm)
        );
        return Ok(json!({}));
    };
    let accepted = answer["accepted"].as_bool().context("a verdict")?;
    let message = answer["message"].as_str().unwrap_or_default();
    ensure!(accepted || !message.is_empty(), "a refusal without a reason: {answer}");
    ensure!(message.chars().count() <= 2048, "an endless reason: {answer}");
    Ok(answer)
}

#[test]
fn damaged_reviews_are_answered_alike_by_the_policy_and_by_the_native_code() -> anyhow::Result<()> {
    let number = |name: &str, otherwise| std::env::var(name).map_or(Ok(otherwise), |text| text.parse::<u64>());
    let (seed, mutations) = (number("SEED", 20_260_101)?, number("MUTATIONS", MUTATIONS)?);
    let (module, fixtures) = (policy(), fixtures()?);
    let mut verdicts = [0; 3];
    for seed in seed..seed + mutations {
        let (index, payload) = damaged(&fixtures, &mut Random(seed));
        let answer = answer(&module, &fixtures[index], &payload).with_context(|| {
            let file = std::env::temp_dir().join(format!("claim-rollout-mutation-{seed}.json"));
            // Best effort: the seed says the same.
            let _ = std::fs::write(&file, &payload);
            let (sentence, file) = (&fixtures[index].sentence, file.display());
            format!("SEED={seed} MUTATIONS=1, from `{sentence}`; the payload is in {file}")
        })?;
        let verdict = usize::from(answer["accepted"] == false) + 2 * usize::from(!answer["mutated_object"].is_null());
        verdicts[verdict] += 1;
    }
    // If one of them were missing, this would test less than it says.
    ensure!(
        mutations < 1000 || verdicts.iter().all(|count| *count > 20),
        "{verdicts:?}"
    );
    Ok(())
}

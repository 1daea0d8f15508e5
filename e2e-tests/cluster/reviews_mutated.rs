//! Thousands of random mutations of `reviews/`. policy.wasm answers each like the native code, byte for byte, and never
//! traps.
//!
//! A failure prints how to repeat the one case.

use serde_json::{Value, json};

use crate::cluster::reviews::{Fixture, fixtures};
use crate::world::alike::{Question, ask_both, ensure_all_kinds};
use crate::world::generated::choices::Choices;
use crate::world::generated::values::{self, odd_size, size};

/// The default number of mutations; `MUTATIONS` changes it.
const MUTATIONS: u64 = 2_500;

/// Texts that the policy knows.
const KNOWN: &str = "InPlace OnClaimDelete ReCreate StatefulSet UPDATE CREATE DELETE status data web \
                     system:serviceaccount:claim-rollout:claim-rollout-controller";

/// Values that have caused trouble somewhere.
fn trouble(random: &mut dyn Choices) -> Value {
    match random.below(4) {
        0 => size(random),
        1 => odd_size(random),
        2 => json!(*random.pick(&KNOWN.split(' ').collect::<Vec<_>>())),
        _ => values::trouble(random),
    }
}

/// A pointer to a random value; more often to a value that matters.
fn somewhere(value: &Value, random: &mut dyn Choices) -> String {
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
fn restructure(value: &mut Value, random: &mut dyn Choices) {
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
fn scramble(bytes: &mut Vec<u8>, random: &mut dyn Choices) {
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

/// The mutated payload of this seed.
fn damaged(fixtures: &[Fixture], random: &mut dyn Choices) -> (usize, Vec<u8>) {
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

#[test]
fn mutated_reviews_answered_alike_by_wasm_and_native_code() -> anyhow::Result<()> {
    let fixtures = fixtures()?;
    let tally = ask_both("reviews_mutated", ("MUTATIONS", MUTATIONS), |random| {
        let (index, payload) = damaged(&fixtures, random);
        let fixture = &fixtures[index];
        Question {
            payload,
            host: fixture.cluster().host(),
            native: Box::new(fixture.cluster()),
            origin: format!("damaged from `{}`", fixture.sentence),
        }
    })?;
    ensure_all_kinds(&tally, &["passed", "changed", "400"], 20)
}

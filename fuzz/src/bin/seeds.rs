//! Converts the first inputs of a target between the committed file and the folder of libFuzzer.
//!
//! ```text
//! seeds unpack TARGET FOLDER   writes all inputs
//! seeds derive TARGET FOLDER   writes only the inputs from e2e-tests/reviews
//! seeds pack TARGET FOLDER     writes the other inputs of the folder to fuzz/seeds/TARGET.txt
//! ```
//!
//! fuzz/seeds/TARGET.txt has one input per line, the shortest first, escaped as in a Rust byte string: one readable
//! file instead of hundreds of binary ones.

#[path = "../../../e2e-tests/world/reviews_stored.rs"]
mod reviews_stored;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs, io};

// Code with coverage flags must link the functions that it calls.
use libfuzzer_sys as _;
use reviews_stored::Stored;
use serde_json::{Value, json};

type Inputs = BTreeSet<Vec<u8>>;

/// The keys of texts that are good inputs.
const STAGED_CHANGES: [&str; 1] = ["claim-rollout.io/staged"];
const QUANTITIES: [&str; 4] = ["storage", "memory", "cpu", "ephemeral-storage"];

/// The most bytes of inputs for a target. A run finds longer ones again.
const MOST: usize = 24 * 1024;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [command, target, folder] = arguments.as_slice() else {
        eprintln!("usage: seeds unpack|derive|pack TARGET FOLDER");
        return ExitCode::from(2);
    };
    match run(command, target, Path::new(folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("seeds: {target}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: &str, target: &str, folder: &Path) -> io::Result<()> {
    let file = root().join("fuzz/seeds").join(format!("{target}.txt"));
    let mut inputs = derived(target)?;
    if command == "pack" {
        let mut packed: Vec<Vec<u8>> = files(folder)?
            .into_iter()
            .filter(|input| !inputs.contains(input))
            .collect();
        packed.sort_by_key(|input| (input.len(), input.clone()));
        let mut size = 0;
        packed.retain(|input| {
            size += input.len();
            size <= MOST
        });
        let lines = packed.iter().map(|input| format!("{}\n", input.escape_ascii()));
        return fs::write(file, lines.collect::<String>());
    }
    if command == "unpack" {
        let text = fs::read_to_string(file).unwrap_or_default();
        inputs.extend(text.lines().map(|line| unescape(line.as_bytes())));
    }
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder)?;
    for (index, input) in inputs.iter().enumerate() {
        fs::write(folder.join(format!("seed-{index:05}")), input)?;
    }
    Ok(())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn files(folder: &Path) -> io::Result<Inputs> {
    fs::read_dir(folder)?.map(|entry| fs::read(entry?.path())).collect()
}

/// The inputs from the reviews of the end-to-end tests.
fn derived(target: &str) -> io::Result<Inputs> {
    let mut inputs = Inputs::new();
    if !matches!(target, "wire" | "staged_change" | "quantity" | "read") {
        return Ok(inputs);
    }
    let stored = Stored::read().map_err(io::Error::other)?;
    for (sentence, entry) in stored.reviews() {
        let body = stored.body(sentence).map_err(io::Error::other)?;
        let review: Value = match serde_json::from_slice(&body) {
            Ok(review) => review,
            Err(_) if target == "wire" => {
                inputs.insert(body);
                continue;
            }
            Err(_) => continue,
        };
        match target {
            "wire" => {
                let payload = json!({"settings": entry.settings(), "request": review["request"]});
                inputs.insert(payload.to_string().into_bytes());
            }
            "read" => {
                let objects = ["object", "oldObject"].map(|key| &review["request"][key]);
                let objects = objects.into_iter().filter(|object| object.is_object());
                inputs.extend(objects.map(|object| object.to_string().into_bytes()));
            }
            "staged_change" => collect(&review, &STAGED_CHANGES, &mut inputs),
            _ => collect(&review, &QUANTITIES, &mut inputs),
        }
    }
    Ok(inputs)
}

/// Collects the texts of these keys at any depth.
fn collect(value: &Value, keys: &[&str], inputs: &mut Inputs) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                if let (true, Value::String(text)) = (keys.contains(&key.as_str()), value) {
                    inputs.insert(text.clone().into_bytes());
                }
                collect(value, keys, inputs);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, keys, inputs)),
        _ => {}
    }
}

/// The inverse of `escape_ascii`.
fn unescape(line: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some((first, after)) = rest.split_first() {
        let (byte, after) = match (first, after) {
            (b'\\', [b'n', after @ ..]) => (b'\n', after),
            (b'\\', [b'r', after @ ..]) => (b'\r', after),
            (b'\\', [b't', after @ ..]) => (b'\t', after),
            (b'\\', [b'x', high, low, after @ ..]) => (digit(*high) << 4 | digit(*low), after),
            (b'\\', [escaped, after @ ..]) => (*escaped, after),
            (other, after) => (*other, after),
        };
        bytes.push(byte);
        rest = after;
    }
    bytes
}

fn digit(byte: u8) -> u8 {
    char::from(byte)
        .to_digit(16)
        .and_then(|digit| u8::try_from(digit).ok())
        .unwrap_or(0)
}

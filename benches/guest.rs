//! `make bench`: policy.wasm beside a policy made with the SDK (benches/sdk-guest), each run as policy-server runs it.
//!
//! First their answers are compared: on the same question, a faster wrong answer is no result, and the exit code says so.
//! Then both are timed in turns (A B A B …), so that a busy machine slows both. A line is `name ratio (ours, peer)`; the
//! ratio is peer ÷ ours and the median over pairs, with its quartiles. Missing a target is reported and fails nothing.

mod fixtures;

use std::error::Error;
use std::hint::black_box;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use std::{env, fs};

use serde_json::Value;
use wapc::WapcHost;
use wasmtime_provider::wasmtime::{Config, Engine, Module};
use wasmtime_provider::{EpochDeadlines, WasmtimeEngineProviderBuilder, WasmtimeEngineProviderPre};

use fixtures::{Edit, SIZES, Size, review};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// How long one line may take, and the fewest pairs a median is taken of.
const BUDGET: Duration = Duration::from_secs(2);
const FEWEST_PAIRS: usize = 5;

/// Never reached, as nobody advances the epoch here; but the guests are compiled with the checks, as in policy-server.
const DEADLINES: EpochDeadlines = EpochDeadlines {
    wapc_init: 2,
    wapc_func: 2,
};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let ours = Guest::load("CLAIM_ROLLOUT_POLICY")?;
    let peer = Guest::load("CLAIM_ROLLOUT_SDK_GUEST")?;
    for size in SIZES {
        for edit in [Edit::Image, Edit::Grow] {
            for guest in [&ours, &peer] {
                guest.check(size, edit)?;
            }
        }
    }
    println!("answers agree; ratio = peer / ours [quartiles]");

    let [small, large] = [&ours, &peer].map(|guest| guest.bytes.len());
    let ratio = large as f64 / small as f64;
    println!(
        "{:<34}{ratio:>6.1}x ({small} B, {large} B){}",
        "module size",
        verdict(ratio, Some(8.0))
    );
    Pairs::take(|| Ok([ours.compile_once()?, peer.compile_once()?]))?.print("module compile", Some(8.0));
    Pairs::take(|| Ok([ours.start()?.1, peer.start()?.1]))?.print("fresh instance", None);
    for size in SIZES {
        // The target is for what a real set weighs: with 4 KB it is the fixed cost of a call that is measured.
        let target = if size.name == "4 KB" { None } else { Some(5.0) };
        for (what, edit) in [("unchanged", Edit::Image), ("grow", Edit::Grow)] {
            let payload = serde_json::to_vec(&review(size, edit))?;
            let pairs = Pairs::take(|| Ok([ours.call(&payload)?.1, peer.call(&payload)?.1]))?;
            pairs.print(&format!("call, {}, {what} ({} B)", size.name, payload.len()), target);
        }
    }
    Ok(())
}

/// A module, compiled once; every call gets a fresh instance of it.
struct Guest {
    /// The variable that named the file: what messages call it by.
    name: &'static str,
    bytes: Vec<u8>,
    engine: Engine,
    pre: WasmtimeEngineProviderPre,
}

impl Guest {
    fn load(name: &'static str) -> Result<Self> {
        let path = env::var(name).map_err(|_| format!("{name} must name a wasm module; `make bench` sets it"))?;
        let bytes = fs::read(&path).map_err(|error| format!("{name}: {path}: {error}"))?;
        // policy-server's configuration.
        let mut config = Config::new();
        config.wasm_function_references(true).epoch_interruption(true);
        let engine = Engine::new(&config)?;
        let module = Module::new(&engine, &bytes)?;
        let pre = WasmtimeEngineProviderBuilder::new()
            .engine(engine.clone())
            .module(module)
            .enable_epoch_interruptions(DEADLINES)
            .build_pre()
            .map_err(|error| format!("{name}: {error}"))?;
        Ok(Self {
            name,
            bytes,
            engine,
            pre,
        })
    }

    fn compile_once(&self) -> Result<Duration> {
        let start = Instant::now();
        black_box(Module::new(&self.engine, &self.bytes)?);
        Ok(start.elapsed())
    }

    /// A fresh instance after `wapc_init`, and how long that took.
    fn start(&self) -> Result<(WapcHost, Duration)> {
        let start = Instant::now();
        let engine = self.pre.rehydrate(Some(DEADLINES))?;
        let no_host_calls = |_, _: &str, _: &str, operation: &str, _: &[u8]| {
            Err(format!("a look-up ({operation}), though the settings ask for none").into())
        };
        let host = WapcHost::new(Box::new(engine), Some(Box::new(no_host_calls)))?;
        Ok((host, start.elapsed()))
    }

    /// The answer of a fresh instance, and how long the call alone took.
    fn call(&self, payload: &[u8]) -> Result<(Vec<u8>, Duration)> {
        let (host, _) = self.start()?;
        let start = Instant::now();
        let answer = host
            .call("validate", payload)
            .map_err(|error| format!("{}: {error}", self.name))?;
        Ok((answer, start.elapsed()))
    }

    /// Err iff the answer is not the one that both must give.
    fn check(&self, size: Size, edit: Edit) -> Result<()> {
        let review = review(size, edit);
        let answer: Value = serde_json::from_slice(&self.call(&serde_json::to_vec(&review)?)?.0)?;
        let request = &review["request"];
        let fault = match (edit, &answer["mutated_object"]) {
            _ if answer["accepted"] != true => Some(format!("not accepted: {}", answer["message"])),
            (Edit::Image, Value::Null) => None,
            (Edit::Image, _) => Some("mutated, though no template changed".to_owned()),
            (Edit::Grow, mutated) => staged_fault(request, mutated),
        };
        fault.map_or(Ok(()), |fault| {
            Err(format!("{}, {}: {fault}", self.name, size.name).into())
        })
    }
}

/// What is wrong with an object in which the growth has been staged, if anything: the old templates, a record of the wish,
/// and otherwise what the request asked for.
fn staged_fault(request: &Value, mutated: &Value) -> Option<String> {
    let mut rest = mutated.clone();
    let annotations = rest.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
    let Some(record) = annotations.and_then(|all| all.remove("claim-rollout.io/staged")) else {
        return Some("no record of the wish".to_owned());
    };
    if !record.as_str().is_some_and(|record| record.contains("20Gi")) {
        return Some("the record does not hold the wish".to_owned());
    }
    let mut expected = request["object"].clone();
    expected["spec"]["volumeClaimTemplates"] = request["oldObject"]["spec"]["volumeClaimTemplates"].clone();
    let path = difference(&expected, &rest, "")?;
    Some(format!("differs from the request at {path}"))
}

/// The first path at which two values differ.
fn difference(expected: &Value, found: &Value, path: &str) -> Option<String> {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => {
            expected
                .keys()
                .chain(found.keys())
                .find_map(|key| match (expected.get(key), found.get(key)) {
                    (Some(expected), Some(found)) => difference(expected, found, &format!("{path}/{key}")),
                    _ => Some(format!("{path}/{key}")),
                })
        }
        (Value::Array(expected), Value::Array(found)) if expected.len() == found.len() => {
            let mut pairs = expected.iter().zip(found).enumerate();
            pairs.find_map(|(n, (expected, found))| difference(expected, found, &format!("{path}/{n}")))
        }
        _ => (expected != found).then(|| path.to_owned()),
    }
}

/// Times of ours and the peer's, taken in turns.
struct Pairs(Vec<[f64; 2]>);

impl Pairs {
    fn take(mut pair: impl FnMut() -> Result<[Duration; 2]>) -> Result<Self> {
        pair()?; // caches and page faults
        let start = Instant::now();
        let mut pairs = Vec::new();
        while pairs.len() < FEWEST_PAIRS || start.elapsed() < BUDGET {
            pairs.push(pair()?.map(|time| time.as_secs_f64()));
        }
        Ok(Self(pairs))
    }

    fn print(&self, name: &str, target: Option<f64>) {
        let ratios = sorted(self.0.iter().map(|[ours, peer]| peer / ours));
        let [ours, peer] = [0, 1].map(|side| micros(median(&sorted(self.0.iter().map(|pair| pair[side])))));
        let median = median(&ratios);
        let quartiles = [ratios[ratios.len() / 4], ratios[ratios.len() * 3 / 4]];
        println!(
            "{name:<34}{median:>6.1}x [{:.1}-{:.1}] ({ours}, {peer}){}",
            quartiles[0],
            quartiles[1],
            verdict(median, target)
        );
    }
}

fn verdict(ratio: f64, target: Option<f64>) -> String {
    target.map_or(String::new(), |target| {
        format!(
            "  {} (target {target}x)",
            if ratio >= target { "PASS" } else { "below target" }
        )
    })
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

fn median(sorted: &[f64]) -> f64 {
    sorted[sorted.len() / 2]
}

fn micros(seconds: f64) -> String {
    format!("{:.1} us", seconds * 1e6)
}

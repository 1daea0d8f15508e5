//! `make bench`: that time is linear in the input, from a usual review to two objects of 3 MiB.
//!
//! For each shape of a review: the time per byte at each length, the lowest quartile of several calls of a fresh instance,
//! and how much dearer a byte gets with length: the worst pair of a shorter review and a longer one. (Shorter ones have dearer
//! bytes: what a call costs whatever its length is spread over fewer.) The longest are sent once before anything is measured,
//! because the host's allocator learns from its first large blocks to keep them. What lies in parts that nobody reads, what is read, and what is
//! refused must all be linear: a policy-server stops a guest after two seconds, and then nobody can update the set.

use std::env;
use std::error::Error;
use std::fs;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use wapc::WapcHost;
use wasmtime_provider::wasmtime::{Config, Engine, Module};
use wasmtime_provider::{EpochDeadlines, WasmtimeEngineProviderBuilder, WasmtimeEngineProviderPre};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// In bytes.
const LENGTHS: [usize; 4] = [15 << 10, 128 << 10, 659 << 10, 6 << 20];
/// A byte of a longer review beside one of a shorter.
const TARGET: f64 = 1.3;
/// How long one measurement may take, and the fewest calls it is taken of.
const BUDGET: Duration = Duration::from_millis(500);
const FEWEST: usize = 5;
/// A shape that takes longer is not tried with more.
const PATIENCE: Duration = Duration::from_secs(2);

/// Never reached, as nobody advances the epoch here.
const DEADLINES: EpochDeadlines = EpochDeadlines {
    wapc_init: 2,
    wapc_func: 2,
};

/// Where the bytes of a review are.
struct Shape {
    name: &'static str,
    /// `metadata.annotations`, one entry; `{n}` is its number.
    annotation: &'static str,
    /// An entry in `spec.volumeClaimTemplates[0].metadata.labels`
    label: &'static str,
    /// What the new template asks for; the old one has 10Gi.
    wish: &'static str,
}

const SHAPES: [Shape; 6] = [
    Shape {
        name: "nothing changes, unread",
        annotation: r#""example.com/{n}":"some text that somebody has written here, 64 bytes of it.""#,
        label: "",
        wish: "10Gi",
    },
    Shape {
        name: "grow, unread",
        annotation: r#""example.com/{n}":"some text that somebody has written here, 64 bytes of it.""#,
        label: "",
        wish: "20Gi",
    },
    Shape {
        name: "grow, unread and escaped",
        annotation: r#""example.com/{n}":"\"some\\text\n\u00e9\"\t\t\t\t\t\t\t\t\t\t\t\t""#,
        label: "",
        wish: "20Gi",
    },
    Shape {
        name: "grow, our annotations",
        annotation: r#""claim-rollout.io/{n}":"some text that somebody has written here""#,
        label: "",
        wish: "20Gi",
    },
    Shape {
        name: "grow, labels (refused)",
        annotation: "",
        label: r#""label-{n}":"x""#,
        wish: "20Gi",
    },
    Shape {
        name: "refused for its end",
        annotation: r#""example.com/{n}":"some text that somebody has written here, 64 bytes of it.""#,
        label: "",
        wish: "20Gi\"",
    },
];

impl Shape {
    /// A review of about this length.
    fn review(&self, length: usize) -> String {
        let filling = |item: &str| {
            let count = if item.is_empty() {
                0
            } else {
                length / 2 / (item.len() + 4)
            };
            let items = (0..count).map(|n| item.replace("{n}", &format!("{n:06}")));
            items.collect::<Vec<_>>().join(",")
        };
        let (annotations, labels) = (filling(self.annotation), filling(self.label));
        let object = |size: &str| {
            format!(
                r#"{{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{{"name":"web","namespace":"shop","uid":"u-1","annotations":{{{annotations}}}}},"spec":{{"replicas":3,"volumeClaimTemplates":[{{"metadata":{{"name":"data","labels":{{{labels}}}}},"spec":{{"resources":{{"requests":{{"storage":"{size}"}}}}}}}}]}}}}"#
            )
        };
        format!(
            r#"{{"settings":{{"authority":"TrustSetEditors"}},"request":{{"uid":"1","kind":{{"group":"apps","version":"v1","kind":"StatefulSet"}},"operation":"UPDATE","name":"web","namespace":"shop","userInfo":{{"username":"alice"}},"oldObject":{},"object":{}}}}}"#,
            object("10Gi"),
            object(self.wish)
        )
    }
}

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
    let guest = load()?;
    for shape in &SHAPES {
        time_of(&guest, shape.review(LENGTHS[LENGTHS.len() - 1]).as_bytes())?;
    }
    println!("time per byte by length; ratio = dearest byte / cheapest byte of a shorter review");
    for shape in &SHAPES {
        let mut costs = Vec::new();
        let mut line = String::new();
        for length in LENGTHS {
            let review = shape.review(length);
            let time = time_of(&guest, review.as_bytes())?;
            let cost = time.as_secs_f64() * 1e9 / review.len() as f64;
            line += &format!("  {} KB: {cost:.2} ns", review.len() >> 10);
            costs.push(cost);
            if time > PATIENCE {
                line += &format!(" ({:.0} s, so no more)", time.as_secs_f64());
                break;
            }
        }
        let mut cheapest = f64::MAX;
        let growth = costs.iter().map(|cost| {
            cheapest = cheapest.min(*cost);
            cost / cheapest
        });
        let ratio = growth.fold(1.0, f64::max);
        let verdict = if ratio <= TARGET { "PASS" } else { "above target" };
        println!("{:<28}{ratio:>6.2}x  {verdict} (target {TARGET}x){line}", shape.name);
    }
    Ok(())
}

fn load() -> Result<WasmtimeEngineProviderPre> {
    let name = "CLAIM_ROLLOUT_POLICY";
    let path = env::var(name).map_err(|_| format!("{name} must name a wasm module; `make bench` sets it"))?;
    let bytes = fs::read(&path).map_err(|error| format!("{name}: {path}: {error}"))?;
    let mut config = Config::new();
    config.wasm_function_references(true).epoch_interruption(true);
    let engine = Engine::new(&config)?;
    let module = Module::new(&engine, &bytes)?;
    let builder = WasmtimeEngineProviderBuilder::new().engine(engine).module(module);
    Ok(builder.enable_epoch_interruptions(DEADLINES).build_pre()?)
}

/// The time of a call, each of a fresh instance: the lowest quartile, because what else runs here only adds to it.
fn time_of(guest: &WasmtimeEngineProviderPre, payload: &[u8]) -> Result<Duration> {
    let mut times = Vec::new();
    let begin = Instant::now();
    while times.len() < FEWEST || begin.elapsed() < BUDGET {
        let engine = guest.rehydrate(Some(DEADLINES))?;
        let no_host_calls = |_, _: &str, _: &str, _: &str, _: &[u8]| Err("a look-up".into());
        let host = WapcHost::new(Box::new(engine), Some(Box::new(no_host_calls)))?;
        let start = Instant::now();
        host.call("validate", payload)?;
        times.push(start.elapsed());
        if start.elapsed() > PATIENCE {
            break;
        }
    }
    times.sort_unstable();
    Ok(times[times.len() / 4])
}

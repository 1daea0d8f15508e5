//! `make bench`: compares policy.wasm with its peers.
//!
//! * A policy made with the SDK and k8s-openapi (sdk-guest), over the same decision. Both run as in policy-server, with a
//!   fresh instance for every request. The call alone and the whole request are measured; the part of the host is the
//!   same for both guests.
//! * An earlier build of the policy, with `make bench BEFORE=old.wasm`.
//! * Policy engines in native code, compared with our wasm and with our native code.
//! * Another parser of quantities.
//!
//! The answers are compared first: different answers are an error. Then both sides are timed in turns (A B A B …), so
//! that a busy machine slows both. A line is `name ratio (ours, peer)`. The ratio is peer ÷ ours, the median over
//! pairs, with its quartiles. An aim that is missed is reported and is no error: it depends on
//! the machine and on the peers. What is enforced: equal answers here, the size in `make policy.wasm`, and `make linear`.

mod engines;
mod fixtures;
mod guest;
mod module;
mod pairs;
mod quantities;

use std::hint::black_box;
use std::process::ExitCode;

use claim_rollout::admission::{self, NoCluster};

use engines::{Cel, Rego};
use fixtures::{Edit, SIZES, Size, review};
use guest::Guest;
use pairs::{Pairs, timed, verdict};

pub(crate) type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// The size of a usual StatefulSet.
const USUAL: Size = SIZES[1];

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
    let before = std::env::var_os(BEFORE).map(|_| Guest::load(BEFORE)).transpose()?;
    let others = || {
        [
            Some((&peer, Aims::PEER)),
            before.as_ref().map(|before| (before, Aims::BEFORE)),
        ]
        .into_iter()
        .flatten()
    };
    for (size, edit) in requests() {
        ours.check(size, edit)?;
        for (other, _) in others() {
            other.answers_like(&ours, size, edit)?;
        }
    }
    println!("answers agree; ratio = other / ours [quartiles] (ours, other)");
    for (other, aims) in others() {
        println!("{}:", aims.other);
        modules(&ours, other, &aims)?;
        for (size, edit) in requests() {
            calls(&ours, other, (size, edit), &aims)?;
        }
    }
    println!("other engines and parsers:");
    engines(&ours)?;
    quantities::run()
}

/// The environment variable with the path of an earlier build of the policy.
const BEFORE: &str = "CLAIM_ROLLOUT_BEFORE";

/// What the ratios to another guest should be at least.
struct Aims {
    /// The other guest.
    other: &'static str,
    compile: f64,
    /// 4 KB and the larger requests; the fixed cost of a call dominates at 4 KB.
    unchanged: [Option<f64>; 2],
    staged: [Option<f64>; 2],
}

impl Aims {
    const PEER: Self = Self {
        other: "a guest with the SDK and k8s-openapi",
        compile: 5.0,
        unchanged: [None, Some(6.0)],
        staged: [None, Some(6.0)],
    };
    /// At most 1.4, 1.05 and 1.1 times the time of the earlier build.
    const BEFORE: Self = Self {
        other: "the earlier build",
        compile: 1.0 / 1.4,
        unchanged: [Some(1.0 / 1.05); 2],
        staged: [Some(1.0 / 1.1); 2],
    };
}

/// Each size with each edit.
fn requests() -> impl Iterator<Item = (Size, Edit)> {
    SIZES
        .into_iter()
        .flat_map(|size| [(size, Edit::Image), (size, Edit::Grow)])
}

/// The size of the modules, and the time to compile them.
fn modules(ours: &Guest, other: &Guest, aims: &Aims) -> Result<()> {
    let [ours_bytes, other_bytes] = [ours, other].map(|guest| guest.bytes.len());
    let ratio = other_bytes as f64 / ours_bytes as f64;
    // The limit that `make policy.wasm` enforces.
    let most: u32 = std::env::var("MOST_BYTES")?.parse()?;
    let fits = verdict(f64::from(most) / ours_bytes as f64, Some(1.0));
    println!(
        "{:<42}{ratio:>7.2}x ({ours_bytes} B, {other_bytes} B){fits} of {most} B",
        "module size"
    );
    Pairs::take(|| Ok([ours.compile_once()?, other.compile_once()?]))?.print("module compile", Some(aims.compile));
    Ok(())
}

/// The same request to both guests: the call alone, and with its instance.
fn calls(ours: &Guest, other: &Guest, (size, edit): (Size, Edit), aims: &Aims) -> Result<()> {
    let (what, aims) = match edit {
        Edit::Image => ("unchanged", aims.unchanged),
        Edit::Grow => ("staged", aims.staged),
    };
    let aim = aims[usize::from(size.name != SIZES[0].name)];
    let payload = serde_json::to_vec(&review(size, edit))?;
    let name = format!("{}, {what}", size.name);
    let pairs = Pairs::take(|| Ok([ours.call(&payload)?.1, other.call(&payload)?.1]))?;
    pairs.print(&format!("call, {name}"), aim);
    let pairs = Pairs::take(|| Ok([ours.request(&payload)?, other.request(&payload)?]))?;
    pairs.print(&format!("fresh instance + call, {name}"), None);
    Ok(())
}

/// Engines in native code against our wasm, and against our native code.
fn engines(ours: &Guest) -> Result<()> {
    let (mut rego, cel) = (Rego::new()?, Cel::new()?);
    for (edit, passes) in [(Edit::Image, true), (Edit::Grow, false)] {
        let payload = review(USUAL, edit).to_string();
        let answers = [rego.passes(&payload)?, cel.passes(&payload)?];
        if answers != [passes; 2] {
            return Err(format!("expected {passes} of regorus and cel, but found {answers:?}").into());
        }
    }
    let payload = review(USUAL, Edit::Image).to_string();
    let bytes = payload.as_bytes();
    let native = || timed(|| black_box(admission::validate(black_box(bytes), &mut NoCluster))).1;
    let mut rego_time = || timed(|| rego.passes(&payload)).1;
    let cel_time = || timed(|| cel.passes(&payload)).1;
    let name = |side: &str, peer: &str| format!("{side}, {}, unchanged, {peer}", USUAL.name);
    Pairs::take(|| Ok([ours.call(bytes)?.1, rego_time()]))?.print(&name("wasm", "regorus"), Some(6.0));
    Pairs::take(|| Ok([ours.call(bytes)?.1, cel_time()]))?.print(&name("wasm", "cel"), Some(15.0));
    Pairs::take(|| Ok([native(), rego_time()]))?.print(&name("native", "regorus"), Some(6.0));
    Pairs::take(|| Ok([native(), cel_time()]))?.print(&name("native", "cel"), Some(15.0));
    Ok(())
}

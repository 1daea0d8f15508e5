//! `make bench`: compares policy.wasm with its peers.
//!
//! * A policy made with the SDK (sdk-guest). Both run as in policy-server, with a fresh instance for every request. The
//!   call alone and the whole request are measured; the part of the host is the same for both guests.
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

use claim_rollout::admission::NoCluster;
use claim_rollout::wire;

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
    for size in SIZES {
        for edit in [Edit::Image, Edit::Grow] {
            for guest in [&ours, &peer] {
                guest.check(size, edit)?;
            }
        }
    }
    println!("answers agree; ratio = peer / ours [quartiles]");
    modules(&ours, &peer)?;
    for size in SIZES {
        for edit in [Edit::Image, Edit::Grow] {
            calls(&ours, &peer, size, edit)?;
        }
    }
    engines(&ours)?;
    quantities::run()
}

/// The size of the modules, and the time to compile them.
fn modules(ours: &Guest, peer: &Guest) -> Result<()> {
    let [small, large] = [ours, peer].map(|guest| guest.bytes.len());
    let ratio = large as f64 / small as f64;
    // The limit that `make policy.wasm` enforces.
    let most: u32 = std::env::var("MOST_BYTES")?.parse()?;
    let fits = verdict(f64::from(most) / small as f64, Some(1.0));
    println!(
        "{:<42}{ratio:>6.1}x ({small} B, {large} B){fits} of {most} B",
        "module size"
    );
    Pairs::take(|| Ok([ours.compile_once()?, peer.compile_once()?]))?.print("module compile", Some(5.0));
    Ok(())
}

/// The same request to both guests: the call alone, and with its instance.
fn calls(ours: &Guest, peer: &Guest, size: Size, edit: Edit) -> Result<()> {
    // At 4 KB, the fixed cost of a call dominates.
    let (what, aim) = match (edit, size.name) {
        (Edit::Image, "4 KB") => ("unchanged", None),
        (Edit::Grow, "4 KB") => ("divert", None),
        (Edit::Image, "15 KB") => ("unchanged", Some(8.0)),
        (Edit::Image, _) => ("unchanged", Some(6.0)),
        (Edit::Grow, _) => ("divert", Some(6.0)),
    };
    let payload = serde_json::to_vec(&review(size, edit))?;
    let name = format!("{}, {what}", size.name);
    let pairs = Pairs::take(|| Ok([ours.call(&payload)?.1, peer.call(&payload)?.1]))?;
    pairs.print(&format!("call, {name}"), aim);
    let pairs = Pairs::take(|| Ok([ours.request(&payload)?, peer.request(&payload)?]))?;
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
    let native = || timed(|| black_box(wire::validate(black_box(bytes), &mut NoCluster))).1;
    let mut rego_time = || timed(|| rego.passes(&payload)).1;
    let cel_time = || timed(|| cel.passes(&payload)).1;
    let name = |side: &str, peer: &str| format!("{side}, {}, unchanged, {peer}", USUAL.name);
    Pairs::take(|| Ok([ours.call(bytes)?.1, rego_time()]))?.print(&name("wasm", "regorus"), Some(6.0));
    Pairs::take(|| Ok([ours.call(bytes)?.1, cel_time()]))?.print(&name("wasm", "cel"), Some(15.0));
    Pairs::take(|| Ok([native(), rego_time()]))?.print(&name("native", "regorus"), Some(6.0));
    Pairs::take(|| Ok([native(), cel_time()]))?.print(&name("native", "cel"), Some(15.0));
    Ok(())
}

//! Decision one as a table: every row of DESIGN.md, section 4, every value of every setting, every field of a claim
//! template. policy.wasm and the native code answer each case, byte for byte alike, and the answer is compared with the
//! rule. Every expectation is written by hand or by a rule beside it, never copied from an answer.
//!
//! | file | contains |
//! |---|---|
//! | `case`, `objects` | a case, and its parts |
//! | `notation`, `staged_change`, `changes` | the notation of expected answers, and rules for every answer |
//! | `coverage` | what the cases must cover |
//! | `exported` | cases for the page `docs/ask` |
//! | all others | the cases, by subject |

mod case;
mod changes;
mod coverage;
mod exported;
mod notation;
mod objects;
mod staged_change;

// A row is a line, however long.
#[rustfmt::skip]
mod bad_input;
#[rustfmt::skip]
mod new_claims;
#[rustfmt::skip]
mod checks;
#[rustfmt::skip]
mod fields;
#[rustfmt::skip]
mod withdrawal;
#[rustfmt::skip]
mod invisible;
#[rustfmt::skip]
mod mutable;
#[rustfmt::skip]
mod pods;
#[rustfmt::skip]
mod quantities;
#[rustfmt::skip]
mod renames;
#[rustfmt::skip]
mod retention;
#[rustfmt::skip]
mod rows;
#[rustfmt::skip]
mod settings;
#[rustfmt::skip]
mod newer;
#[rustfmt::skip]
mod status;
#[rustfmt::skip]
mod trust;
#[rustfmt::skip]
mod targets;

use std::fmt::Write as _;
use std::num::NonZero;
use std::thread;

use anyhow::ensure;

use case::{Case, Guest};
use coverage::Seen;
use notation::Found;

use crate::world::sdk;

/// The minimum number of cases that the SDK reads.
const LEAST: usize = 400;

/// Every case.
fn cases() -> Vec<Case> {
    let subjects = [
        rows::cases,
        status::cases,
        targets::cases,
        trust::cases,
        newer::cases,
        pods::cases,
        withdrawal::cases,
        new_claims::cases,
        renames::cases,
        retention::cases,
        mutable::cases,
        settings::cases,
        fields::cases,
        quantities::cases,
        bad_input::cases,
        checks::cases,
        invisible::cases,
    ];
    subjects.iter().flat_map(|cases| cases()).collect()
}

/// Every case with its result or its error, in their order. On all cores: fresh instances take most of the time.
fn answered<'c>(guest: Option<&Guest<'_>>, cases: &'c [Case]) -> Vec<(&'c Case, Result<Found, String>)> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let part = |offset: usize| {
        let part = cases.iter().enumerate().skip(offset).step_by(threads);
        part.map(|(at, case)| (at, case, case.check(guest))).collect::<Vec<_>>()
    };
    thread::scope(|scope| {
        let part = &part;
        let running: Vec<_> = (0..threads).map(|offset| scope.spawn(move || part(offset))).collect();
        let parts = running.into_iter().map(|thread| thread.join());
        let parts = parts.flat_map(|part| part.unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        let mut all: Vec<_> = parts.collect();
        all.sort_unstable_by_key(|(at, ..)| *at);
        all.into_iter().map(|(_, case, result)| (case, result)).collect()
    })
}

/// Checks every case with the native code, and with the guest where there is one. Returns a table of the reasons in
/// messages, each with its first case.
pub(crate) fn check(guest: Option<&Guest<'_>>) -> anyhow::Result<String> {
    let cases = cases();
    let outcomes = answered(guest, &cases);
    let (mut report, mut seen) = (String::new(), Seen::default());
    for (case, outcome) in &outcomes {
        match outcome {
            Ok(found) => seen.note(case, found),
            Err(found) => write!(report, "{case}\n  found: {found}\n  replay: {}\n\n", case.replay())?,
        }
    }
    ensure!(report.is_empty(), "{report}");
    let read = cases.iter().filter(|case| sdk::reads(&case.bytes())).count();
    ensure!(read >= LEAST, "{} cases, {read} of them read by the SDK", cases.len());
    seen.ensure_everything()?;
    println!("{} cases: {}", cases.len(), seen);
    Ok(seen.witnesses())
}

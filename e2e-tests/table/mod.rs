//! Decision one as a table: every row of DESIGN.md, section 4, every position of every setting, every field of a claim
//! template. Each case is answered by policy.wasm and by the native code, byte for byte alike, and then compared with what
//! the rule says. Whatever a case expects is written by hand or by a rule beside it, never taken from an answer.
//!
//! | file | holds |
//! |---|---|
//! | `case`, `objects` | what a case is, and what it is made of |
//! | `notation`, `change` | the words in which an answer is expected, and what holds for every answer |
//! | `coverage` | what must occur |
//! | all others | the cases, by subject |

mod case;
mod coverage;
mod notation;
mod objects;
mod staged_change;

// A row is a line, however long: these are tables.
#[rustfmt::skip]
mod bad_input;
#[rustfmt::skip]
mod new_claims;
#[rustfmt::skip]
mod checks;
#[rustfmt::skip]
mod fields;
#[rustfmt::skip]
mod going_back;
#[rustfmt::skip]
mod invisible;
#[rustfmt::skip]
mod mutable;
#[rustfmt::skip]
mod pods;
#[rustfmt::skip]
mod quantities;
#[rustfmt::skip]
mod retention;
#[rustfmt::skip]
mod rows;
#[rustfmt::skip]
mod settings;
#[rustfmt::skip]
mod targets;

use std::fmt::Write as _;
use std::num::NonZero;
use std::thread;

use anyhow::ensure;

use case::Case;
pub(crate) use case::{Cluster, Guest};
use coverage::Seen;
use notation::Found;

/// As many as have to be there at least.
const LEAST: usize = 400;

/// Every case.
fn cases() -> Vec<Case> {
    let subjects = [
        rows::cases,
        targets::cases,
        pods::cases,
        going_back::cases,
        new_claims::cases,
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

/// Every case beside what was found, or what is wrong with it. On all cores: most of the time goes to fresh instances.
fn answered<'c>(guest: Option<&Guest<'_>>, cases: &'c [Case]) -> Vec<(&'c Case, Result<Found, String>)> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let part = |offset: usize| {
        let part = cases.iter().skip(offset).step_by(threads);
        part.map(|case| (case, case.check(guest))).collect::<Vec<_>>()
    };
    thread::scope(|scope| {
        let part = &part;
        let running: Vec<_> = (0..threads).map(|offset| scope.spawn(move || part(offset))).collect();
        let parts = running.into_iter().map(|thread| thread.join());
        parts
            .flat_map(|part| part.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

/// Checks every case with the native code, and with the guest where there is one.
pub(crate) fn check(guest: Option<&Guest<'_>>) -> anyhow::Result<()> {
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
    ensure!(cases.len() >= LEAST, "{} cases", cases.len());
    seen.ensure_everything()?;
    println!("{} cases: {}", cases.len(), seen);
    Ok(())
}

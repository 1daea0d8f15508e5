//! Decision one as a table: every row of `src/admission/decide.rs`, every value of every setting, every field of a claim
//! template. policy.wasm and the native code answer each case, byte for byte alike, and the answer is compared with the
//! rule. Every expectation is written by hand or by a rule beside it, never copied from an answer.
//!
//! | file | contains |
//! |---|---|
//! | `case`, `objects` | a case, and its parts |
//! | `notation`, `staged_change`, `changes` | the notation of expected answers, and rules for every answer |
//! | `coverage` | what the cases must cover |
//! | `exported` | cases for the page `docs/ask` |
//! | `cases/*.txt`, `text`, `words` | the cases that are texts, and what reads them |
//! | all others | cases that a rule makes, by subject |

mod case;
mod changes;
mod coverage;
mod exported;
mod notation;
mod objects;
mod staged_change;
mod text;
mod words;

// A row is a line, however long.
#[rustfmt::skip]
mod bad_input;
#[rustfmt::skip]
mod fields;
#[rustfmt::skip]
mod invisible;
#[rustfmt::skip]
mod large;
#[rustfmt::skip]
mod quantities;
#[rustfmt::skip]
mod rules;
#[rustfmt::skip]
mod settings;

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

/// The cases that are texts.
const TEXTS: [(&str, &str); 16] = [
    ("cases/creations.txt", include_str!("cases/creations.txt")),
    ("cases/unchanged.txt", include_str!("cases/unchanged.txt")),
    ("cases/status.txt", include_str!("cases/status.txt")),
    ("cases/targets.txt", include_str!("cases/targets.txt")),
    ("cases/trust.txt", include_str!("cases/trust.txt")),
    ("cases/newer.txt", include_str!("cases/newer.txt")),
    ("cases/pods.txt", include_str!("cases/pods.txt")),
    ("cases/staged.txt", include_str!("cases/staged.txt")),
    ("cases/withdrawal.txt", include_str!("cases/withdrawal.txt")),
    ("cases/new_claims.txt", include_str!("cases/new_claims.txt")),
    ("cases/renames.txt", include_str!("cases/renames.txt")),
    ("cases/retention.txt", include_str!("cases/retention.txt")),
    ("cases/mutable.txt", include_str!("cases/mutable.txt")),
    ("cases/settings.txt", include_str!("cases/settings.txt")),
    ("cases/requests.txt", include_str!("cases/requests.txt")),
    ("cases/checks.txt", include_str!("cases/checks.txt")),
];

/// Every case.
fn cases() -> Vec<Case> {
    let texts = TEXTS.iter().flat_map(|(file, text)| text::cases(file, text));
    let rules = [
        rules::cases,
        large::cases,
        settings::cases,
        fields::cases,
        quantities::cases,
        bad_input::cases,
        invisible::cases,
    ];
    texts.chain(rules.iter().flat_map(|cases| cases())).collect()
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

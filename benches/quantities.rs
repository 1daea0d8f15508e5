//! Parses quantities and compares each with the previous one, with our code and with the crate `kube_quantity`.

use std::cmp::Ordering;
use std::hint::black_box;
use std::time::Duration;

use claim_rollout::templates::Quantity;
use kube_quantity::ParsedQuantity;

use crate::Result;
use crate::pairs::{Pairs, timed, verdict};

/// Texts as in templates. Both crates and Kubernetes agree on all of these. They differ on `1E`, `1Ei` and fractions of
/// 10⁻⁹, which are left out.
const TEXTS: [&str; 16] = [
    "10Gi",
    "20Gi",
    "100Gi",
    "500Mi",
    "1Ti",
    "1.5Gi",
    "10G",
    "8Gi",
    "1073741824",
    "250m",
    "2e3",
    "512Ki",
    "0",
    "3Pi",
    "64M",
    "1536Mi",
];

/// Rounds of one measurement: a clock cannot measure one text.
const ROUNDS: u32 = 500;

/// The longest time of one parse and one comparison.
const MOST: f64 = 30e-9;

pub(crate) fn run() -> Result<()> {
    for one in TEXTS {
        for other in TEXTS {
            let [ours, theirs] = [ours(one)?.cmp(&ours(other)?), order(&theirs(one)?, &theirs(other)?)?];
            if ours != theirs {
                return Err(format!("{one} and {other}: {ours:?} for us, {theirs:?} for kube_quantity").into());
            }
        }
    }
    let count = u32::try_from(TEXTS.len())?;
    let pairs = Pairs::take(|| Ok([time(ours)?, time(theirs)?]))?.each(ROUNDS * count);
    pairs.print("quantity, parse + compare, kube_quantity", Some(3.0));
    println!(
        "{:<42}{:>7.1} ns{}",
        "",
        pairs.ours() * 1e9,
        verdict(MOST / pairs.ours(), Some(1.0))
    );
    Ok(())
}

fn ours(text: &str) -> Result<Quantity> {
    Ok(text.parse()?)
}

fn theirs(text: &str) -> Result<ParsedQuantity> {
    ParsedQuantity::try_from(text).map_err(|error| format!("{text}: {error:?}").into())
}

fn order(one: &ParsedQuantity, other: &ParsedQuantity) -> Result<Ordering> {
    one.partial_cmp(other)
        .ok_or_else(|| "kube_quantity cannot compare".into())
}

fn time<Q: PartialOrd>(parse: impl Fn(&str) -> Result<Q>) -> Result<Duration> {
    let mut last = parse("1Gi")?;
    let (outcome, time) = timed(|| {
        for _ in 0..ROUNDS {
            for text in TEXTS {
                let next = parse(black_box(text))?;
                black_box(last < next);
                last = next;
            }
        }
        Ok(())
    });
    outcome.map(|()| time)
}

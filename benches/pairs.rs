//! Pairs of times, measured in turns, and their output line.

use std::time::{Duration, Instant};

use crate::Result;

/// The time for one line, and the fewest pairs for a median.
const BUDGET: Duration = Duration::from_secs(2);
const FEWEST_PAIRS: usize = 5;

/// Our times and those of the peer, in seconds.
pub(crate) struct Pairs(Vec<[f64; 2]>);

impl Pairs {
    pub(crate) fn take(mut pair: impl FnMut() -> Result<[Duration; 2]>) -> Result<Self> {
        pair()?; // caches and page faults
        let start = Instant::now();
        let mut pairs = Vec::new();
        while pairs.len() < FEWEST_PAIRS || start.elapsed() < BUDGET {
            pairs.push(pair()?.map(|time| time.as_secs_f64()));
        }
        Ok(Self(pairs))
    }

    /// The times of a single run, if each pair is the time of `runs` runs.
    pub(crate) fn each(self, runs: u32) -> Self {
        Self(
            self.0
                .into_iter()
                .map(|pair| pair.map(|time| time / f64::from(runs)))
                .collect(),
        )
    }

    pub(crate) fn print(&self, name: &str, aim: Option<f64>) {
        let ratios = sorted(self.0.iter().map(|[ours, peer]| peer / ours));
        let [ours, peer] = [0, 1].map(|side| time(median(&sorted(self.0.iter().map(|pair| pair[side])))));
        let median = median(&ratios);
        let quartiles = [ratios[ratios.len() / 4], ratios[ratios.len() * 3 / 4]];
        println!(
            "{name:<42}{median:>7.2}x [{:.2}-{:.2}] ({ours}, {peer}){}",
            quartiles[0],
            quartiles[1],
            verdict(median, aim)
        );
    }

    /// The median of our times.
    pub(crate) fn ours(&self) -> f64 {
        median(&sorted(self.0.iter().map(|[ours, _]| *ours)))
    }
}

pub(crate) fn verdict(ratio: f64, aim: Option<f64>) -> String {
    aim.map_or(String::new(), |aim| {
        format!(
            "  {} (aim {aim:.2}x)",
            if ratio >= aim { "reached" } else { "below the aim" }
        )
    })
}

/// The result of a function, and its time.
pub(crate) fn timed<T>(run: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = run();
    (result, start.elapsed())
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

fn median(sorted: &[f64]) -> f64 {
    sorted[sorted.len() / 2]
}

fn time(seconds: f64) -> String {
    if seconds < 1e-6 {
        format!("{:.1} ns", seconds * 1e9)
    } else {
        format!("{:.1} us", seconds * 1e6)
    }
}

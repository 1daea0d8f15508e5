//! The trace of one schedule: steps, decisions, requests, and the broken guarantee if there is one.

use std::fmt::Write as _;

use super::decisions::Decisions;
use super::log::Log;
use super::planted::Planted;
use super::schedule::{self, Failure};
use super::words;
use super::workload::Workload;
use super::workloads;

/// A trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The lines.
    pub text: String,
    /// The broken guarantee; `None` if all hold.
    pub broken: Option<String>,
}

/// The names of the workloads.
#[must_use]
pub fn names() -> Vec<&'static str> {
    workloads::ALL.iter().map(|workload| workload.name).collect()
}

/// The trace of the schedule of a seed. A failing schedule is shortened first.
///
/// # Errors
/// A list of the known names, if the workload or the planted bug is unknown.
pub fn trace(seed: u64, workload: Option<&str>, planted: Option<&str>) -> Result<Trace, String> {
    let workload = match workload {
        None => schedule::workload_of(seed),
        Some(name) => Workload::named(name)
            .ok_or_else(|| format!("expected one of the workloads {}, but found {name}", names().join(", ")))?,
    };
    let planted = match planted {
        None => None,
        Some(name) => Some(Planted::named(name).ok_or_else(|| {
            let known: Vec<String> = Planted::ALL.iter().map(|planted| format!("{planted:?}")).collect();
            format!(
                "expected one of the planted bugs {}, but found {name}",
                known.join(", ")
            )
        })?),
    };
    let mut decisions = Decisions::with(planted);
    let mut tracing = Log::tracing();
    let mut text = String::new();
    let result = schedule::run(seed, workload, &mut decisions, &mut tracing);
    let broken = match result {
        Ok(()) => {
            lines(&mut text, &tracing);
            let _ = writeln!(
                text,
                "every guarantee holds after {} steps and {} requests",
                tracing.steps, tracing.requests
            );
            None
        }
        Err(failure) => Some(write_shrunk(&mut text, workload, &failure, &mut decisions)),
    };
    Ok(Trace { text, broken })
}

fn lines(text: &mut String, log: &Log) {
    for line in log.lines.iter().flatten() {
        text.push_str(line);
        text.push('\n');
    }
}

/// Appends the trace of the shortened schedule.
fn write_shrunk(text: &mut String, workload: &Workload, failure: &Failure, decisions: &mut Decisions) -> String {
    let shortest = schedule::shrink(workload, failure, decisions);
    let mut tracing = Log::tracing();
    let broken = schedule::replay(shortest.seed, workload, &shortest.steps, decisions, &mut tracing)
        .err()
        .unwrap_or(shortest.broken);
    let _ = writeln!(
        text,
        "{} of {} steps are left:",
        shortest.steps.len(),
        failure.steps.len()
    );
    for step in &shortest.steps {
        let _ = writeln!(text, "  {}", words::words(*step));
    }
    text.push_str("the trace:\n");
    lines(text, &tracing);
    let _ = writeln!(text, "BROKEN {broken}");
    broken.to_string()
}

//! One schedule in words: who did what, what the decision said, and which guarantee broke, if one did.

use std::fmt::Write as _;

use super::log::{self, Log};
use super::mind::Mind;
use super::planted::Planted;
use super::schedule::{self, Failure};
use super::workload::Workload;
use super::workloads;

/// A schedule in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Story {
    /// Line by line.
    pub text: String,
    /// The guarantee that does not hold, and why; nothing if all hold.
    pub broken: Option<String>,
}

/// The names of the workloads.
#[must_use]
pub fn names() -> Vec<&'static str> {
    workloads::ALL.iter().map(|workload| workload.name).collect()
}

/// Tells the schedule of a seed; a failing one in the shortest form that still fails.
///
/// # Errors
/// A line that says which names there are, if there is no such workload or no such planted bug.
pub fn event(seed: u64, workload: Option<&str>, planted: Option<&str>) -> Result<Story, String> {
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
    let mut mind = Mind::with(planted);
    let mut telling = Log::telling();
    let mut text = String::new();
    let result = schedule::run(seed, workload, &mut mind, &mut telling);
    let broken = match result {
        Ok(()) => {
            lines(&mut text, &telling);
            let _ = writeln!(
                text,
                "every guarantee holds after {} steps and {} requests",
                telling.steps, telling.requests
            );
            None
        }
        Err(failure) => Some(retold(&mut text, workload, &failure, &mut mind)),
    };
    Ok(Story { text, broken })
}

fn lines(text: &mut String, log: &Log) {
    for line in log.lines.iter().flatten() {
        text.push_str(line);
        text.push('\n');
    }
}

/// The shortest part that still fails.
fn retold(text: &mut String, workload: &Workload, failure: &Failure, mind: &mut Mind) -> String {
    let shortest = schedule::shrink(workload, failure, mind);
    let mut telling = Log::telling();
    let broken = schedule::replay(shortest.seed, workload, &shortest.steps, mind, &mut telling)
        .err()
        .unwrap_or(shortest.broken);
    let _ = writeln!(
        text,
        "{} steps are left of {}:",
        shortest.steps.len(),
        failure.steps.len()
    );
    for step in &shortest.steps {
        let _ = writeln!(text, "  {}", log::words(*step));
    }
    text.push_str("the story:\n");
    lines(text, &telling);
    let _ = writeln!(text, "BROKEN {broken}");
    broken.to_string()
}

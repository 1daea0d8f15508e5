//! The simulation as a program of its own, so that nothing that ships contains the model.

use std::process::ExitCode;

use claim_rollout::sim::{self, Effort, prove, prove_small, trust};
use clap::Parser;

/// Test the decisions in a model of a cluster, with every known fault
///
/// API server, other controllers and users are models; the decisions are the real ones. Exits with 0 if every
/// guarantee holds, with 1 if one does not, and with 2 for an unknown name.
#[derive(Debug, Parser)]
#[command(name = "sim")]
struct Arguments {
    /// The effort, as a multiple of the run in CI.
    #[arg(default_value_t = 1)]
    times: u64,
    /// The first schedule; skips everything before it.
    #[arg(default_value_t = 0)]
    first: u64,
    /// Print the trace of one schedule. A schedule that breaks a guarantee is shortened first.
    #[arg(long, value_name = "N", conflicts_with_all = ["times", "first"])]
    seed: Option<u64>,
    /// The workload. Without it, the seed chooses one.
    #[arg(long, value_name = "NAME", requires = "seed")]
    workload: Option<String>,
    /// A known bug to plant.
    #[arg(long, value_name = "NAME", requires = "seed")]
    planted: Option<String>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match arguments.seed {
        Some(seed) => trace(seed, &arguments),
        None => run(&arguments),
    }
}

fn trace(seed: u64, arguments: &Arguments) -> ExitCode {
    match sim::trace(seed, arguments.workload.as_deref(), arguments.planted.as_deref()) {
        Ok(trace) => {
            print!("{}", trace.text);
            if trace.broken.is_none() {
                ExitCode::SUCCESS
            } else {
                ExitCode::FAILURE
            }
        }
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::from(2)
        }
    }
}

fn run(arguments: &Arguments) -> ExitCode {
    let effort = Effort {
        first: arguments.first,
        ..Effort::times(arguments.times)
    };
    let report = |line: &str| eprintln!("{line}");
    let all = || {
        let tried = trust::prove(&effort, &report)?;
        Ok((tried, prove_small(&effort, &report)?, prove(&effort, &report)?))
    };
    match all() {
        Ok((tried, [replaced, created, added], numbers)) => {
            println!("{tried}\n{replaced}\n{created}\n{added}\n{numbers}");
            ExitCode::SUCCESS
        }
        Err::<_, String>(trace) => {
            eprintln!("{trace}");
            ExitCode::FAILURE
        }
    }
}

//! The simulation as a program of its own: what ships has no model in it.

use std::process::ExitCode;

use claim_rollout::sim::{self, Effort, prove, trust};
use clap::Parser;

/// Try the decisions in a model of a cluster, while everything that may go wrong does
///
/// API server, other controllers and people are models; the decisions in between are the real ones. Exits with 0 if every
/// guarantee holds, with 1 if one does not, and with 2 for a name that is not known.
#[derive(Debug, Parser)]
#[command(name = "sim")]
struct Arguments {
    /// How many times as long as the run that is part of the tests.
    #[arg(default_value_t = 1)]
    times: u64,
    /// The schedule to go on from.
    #[arg(default_value_t = 0)]
    first: u64,
    /// Tell one schedule line by line instead; one that breaks a guarantee in the shortest form that still does.
    #[arg(long, value_name = "N", conflicts_with_all = ["times", "first"])]
    seed: Option<u64>,
    /// What the user does in it; if none is named, the seed chooses.
    #[arg(long, value_name = "NAME", requires = "seed")]
    workload: Option<String>,
    /// A known bug to plant in it, to see how it is found.
    #[arg(long, value_name = "NAME", requires = "seed")]
    planted: Option<String>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match arguments.seed {
        Some(seed) => event(seed, &arguments),
        None => run(&arguments),
    }
}

fn event(seed: u64, arguments: &Arguments) -> ExitCode {
    match sim::event(seed, arguments.workload.as_deref(), arguments.planted.as_deref()) {
        Ok(story) => {
            print!("{}", story.text);
            if story.broken.is_none() {
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
    let say = |line: &str| eprintln!("{line}");
    match trust::prove(&effort, &say).and_then(|tried| Ok((tried, prove(&effort, &say)?))) {
        Ok((tried, numbers)) => {
            println!("{tried}\n{numbers}");
            ExitCode::SUCCESS
        }
        Err(story) => {
            eprintln!("{story}");
            ExitCode::FAILURE
        }
    }
}

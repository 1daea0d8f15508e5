//! `claim-rollout simulate`: one random schedule of faults and user actions against the model of a cluster, told line by line.

use std::process::ExitCode;

use clap::Args;

use crate::sim;

/// Tell what happens to a set while everything that may go wrong does, as a seed has it
///
/// Nothing of a cluster is touched: API server, controllers and people are models, the decisions in between are the real
/// ones. A schedule that breaks a guarantee is told in the shortest form that still does. Exits with 0 if every guarantee
/// holds, with 1 if one does not, and with 2 for a name that is not known.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The seed; the same one always gives the same schedule.
    #[arg(long, value_name = "N")]
    seed: u64,
    /// What the user does; if none is named, the seed chooses.
    #[arg(long, value_name = "NAME")]
    workload: Option<String>,
    /// A known bug to plant, to see how it is found.
    #[arg(long, value_name = "NAME")]
    planted: Option<String>,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    match sim::tell(
        arguments.seed,
        arguments.workload.as_deref(),
        arguments.planted.as_deref(),
    ) {
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

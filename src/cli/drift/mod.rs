//! `claim-rollout drift`: where claims, live templates and staged templates differ.
//!
//! [`read`] reads the cluster, [`find`] says what differs, as a list of [`difference`]s, [`render`] prints it. All but the
//! first are pure. [`outlook`] says whether a rollout is going to bring a claim up.

pub(crate) mod difference;
pub(crate) mod find;
pub(crate) mod outlook;
pub(crate) mod read;
mod render;

use std::process::ExitCode;

use clap::Args;

use self::difference::Difference;
use self::find::{ObservedSet, find};
use super::ClusterArguments;
use super::output::{OutputFormat, print};

/// Show where claims, the templates of StatefulSets and what is staged differ
///
/// What is wished is what is staged, or else the templates that the set has. One line for each difference, with what is wanted
/// and what was found; nothing where nothing differs. Nothing is written.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The StatefulSets; all if none is named.
    names: Vec<String>,
    /// Of all namespaces.
    #[arg(short = 'A', long, conflicts_with_all = ["names", "namespace"])]
    all_namespaces: bool,
    /// The format.
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<OutputFormat>,
    /// Exit with 1 if anything differs.
    #[arg(long)]
    exit_code: bool,
}

/// Runs the subcommand.
pub(crate) fn run(cluster: &ClusterArguments, arguments: &Arguments) -> ExitCode {
    let shown = super::runtime().and_then(|runtime| runtime.block_on(show(cluster, arguments)));
    match shown {
        Ok(true) if arguments.exit_code => ExitCode::FAILURE,
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", super::in_words(&error));
            ExitCode::FAILURE
        }
    }
}

/// Prints the differences; true iff there are any.
async fn show(cluster: &ClusterArguments, arguments: &Arguments) -> anyhow::Result<bool> {
    let (client, namespace) = cluster.connect().await?;
    let namespace = (!arguments.all_namespaces).then_some(namespace);
    let seen = read::read(&client, namespace.as_deref(), &arguments.names).await?;
    let found: Vec<(&ObservedSet, Vec<Drift>)> = seen.iter().map(|seen| (seen, find(seen))).collect();
    print(&render::text(&found, arguments.output)?)?;
    eprintln!("{}", render::summary(&found));
    Ok(found.iter().any(|(_, differences)| !differences.is_empty()))
}

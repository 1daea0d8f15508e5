//! `claim-rollout recover`: what a failed growth left behind, and the smallest change that ends it.
//!
//! [`read`] reads the cluster, [`growth`] judges one PVC, [`decide`] returns the [`answer`], [`commands`] writes its
//! command lines, [`render`] prints them. All but [`read`] are pure.

mod answer;
mod commands;
mod decide;
mod growth;
mod read;
mod render;

use clap::Args;

use super::cluster::ClusterArguments;
use super::completion::sets;
use super::output::{OutputFormat, print};
use super::process::program;

/// Show what a failed growth left behind, and the smallest change that ends it
///
/// For each PVC of a StatefulSet: what it requests, what is allocated, what it has, and what became of its growth. Then
/// the commands that end a failed growth, the smallest change first. Writes nothing.
///
/// The API server lets a PVC request less than before only if that is more than it has, because a volume does not
/// shrink. The setting `shrink: Recover` lets a smaller size, or a withdrawal, take back what was not reached.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of the StatefulSet
    #[arg(add = sets())]
    name: String,
    /// Output format
    #[arg(short, long, value_name = "FORMAT")]
    output: Option<OutputFormat>,
}

pub(crate) async fn run(cluster: &ClusterArguments, arguments: &Arguments) -> anyhow::Result<()> {
    let (client, namespace) = cluster.connect().await?;
    let inputs = read::read(&client, &namespace, &arguments.name).await?;
    let recovery = decide::decide(&inputs, program());
    print(&render::text(&recovery, &inputs.set, arguments.output)?)
}

//! The shell face: one file per subcommand.

pub mod controller;
pub mod crd;

use clap::{Parser, Subcommand};

/// Change volumeClaimTemplates of StatefulSets on a stock Kubernetes cluster.
#[derive(Debug, Parser)]
#[command(version)]
pub struct Cli {
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Roll out staged changes of volumeClaimTemplates to the claims of StatefulSets
    Controller(controller::ControllerArgs),
    /// Print the CustomResourceDefinition of ClaimRollout
    Crd,
}

/// Does what was asked.
///
/// # Errors
/// The subcommand's.
pub fn run(cli: Cli) -> anyhow::Result<()> {
    match cli.command {
        Command::Controller(args) => tokio::runtime::Runtime::new()?.block_on(controller::run(args)),
        Command::Crd => {
            print!("{}", crd::yaml()?);
            Ok(())
        }
    }
}

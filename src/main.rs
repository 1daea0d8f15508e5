//! The program: parse, and call the shell face.

use clap::Parser;

fn main() -> anyhow::Result<()> {
    claim_rollout::cli::run(claim_rollout::cli::Cli::parse())
}

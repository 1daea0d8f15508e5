//! The `claim-rollout` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    claim_rollout::cli::main()
}

//! The long run of the simulation as a program of its own: `sim [TIMES]`, TIMES as long as the run that is part of the tests.

use std::process::ExitCode;

use claim_rollout::sim::{Effort, prove};

fn main() -> ExitCode {
    let times = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1);
    match prove(&Effort::times(times), &|line| eprintln!("{line}")) {
        Ok(numbers) => {
            println!("{numbers}");
            ExitCode::SUCCESS
        }
        Err(story) => {
            eprintln!("{story}");
            ExitCode::FAILURE
        }
    }
}

//! The long run of the simulation as a program of its own: `sim [TIMES [FIRST]]`, TIMES as long as the run that is part of the
//! tests, or what is left of it from the schedule FIRST on.

use std::process::ExitCode;

use claim_rollout::sim::{Effort, prove, trust};

fn main() -> ExitCode {
    let number = |place| std::env::args().nth(place).and_then(|text| text.parse().ok());
    let effort = Effort {
        first: number(2).unwrap_or(0),
        ..Effort::times(number(1).unwrap_or(1))
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

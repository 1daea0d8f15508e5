//! `claim-rollout completion`: so that a shell completes its commands.

use clap::Args;
use clap_complete::{Shell, generate};

use super::output::print;

/// Print a script that lets a shell complete the commands of claim-rollout
///
/// For bash: `source <(claim-rollout completion bash)`; for zsh and fish write it where the shell looks for such scripts.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Arguments {
    /// The shell.
    shell: Shell,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: &Arguments, parser: clap::Command) -> anyhow::Result<()> {
    print(&script(arguments.shell, parser))
}

fn script(shell: Shell, mut parser: clap::Command) -> String {
    let mut script = Vec::new();
    generate(shell, &mut parser, "claim-rollout", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

#[cfg(test)]
mod tests {
    use clap_complete::Shell;

    use super::script;
    use crate::cli::command;

    #[test]
    fn every_shell_gets_a_script_that_knows_the_commands() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = script(shell, command(None));
            for word in ["plan", "withdraw", "to-revision", "field-manager"] {
                assert!(script.contains(word), "{shell}: {word}");
            }
        }
    }
}

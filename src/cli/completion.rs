//! `claim-rollout completion`: scripts for shell completion.

use clap::Args;
use clap_complete::{Shell, generate};

use super::output::print;

/// Output shell completion code for the specified shell
///
/// For bash: `source <(claim-rollout completion bash)`. For zsh and fish, save the output among the completion scripts.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Arguments {
    /// Shell to complete for
    shell: Shell,
}

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
    fn script_for_each_shell_knows_the_commands() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = script(shell, command(None));
            for word in ["plan", "withdraw", "to-revision", "field-manager"] {
                assert!(script.contains(word), "{shell}: {word}");
            }
        }
    }
}

//! `claim-rollout completion`, and the completion of the plugin `kubectl claim-rollout`.
//!
//! The shell calls this program for each completion, so that it completes names of StatefulSets too. kubectl calls
//! `kubectl_complete-claim_rollout`, which is this program under another name, and reads candidates in the format of
//! [cobra](https://github.com/spf13/cobra/blob/main/site/content/completions/_index.md).

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, FromArgMatches as _};
use clap_complete::Shell;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate, complete};
use clap_complete::env::{CompleteEnv, Shells};
use kube::api::ListParams;
use tokio::time::timeout;

use super::cluster::{self, ClusterArguments};
use super::lists::list;
use super::output::print;
use super::process::runtime;
use crate::controller::read::metadata::Bare;

/// The name under which kubectl calls this program to complete.
pub(super) const PLUGIN_COMPLETER: &str = "kubectl_complete-claim_rollout";

/// The variable that the scripts of shells set.
const VARIABLE: &str = "COMPLETE";

/// Longer than this, nobody waits for a completion.
const PATIENCE: Duration = Duration::from_secs(2);

/// The parser of the whole program.
pub(super) type Parser = fn() -> clap::Command;

/// The parser, for the names of StatefulSets: an argument has no other way to know its command.
static PARSER: OnceLock<Parser> = OnceLock::new();

/// cobra: do not complete files.
const NO_FILES: &str = ":4\n";

/// Output shell completion code for the specified shell
///
/// For bash: `source <(claim-rollout completion bash)`. For zsh and fish, save the output among the completion scripts.
/// For kubectl: link this program as `kubectl_complete-claim_rollout` into a folder of the PATH.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Arguments {
    /// Shell to complete for
    shell: Shell,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    print(&script(arguments.shell)?)
}

fn script(shell: Shell) -> anyhow::Result<String> {
    let name = shell.to_string();
    let shells = Shells::builtins();
    let shell = shells.completer(&name).context("the shell is not supported")?;
    let mut script = Vec::new();
    shell.write_registration(VARIABLE, "claim-rollout", "claim-rollout", "claim-rollout", &mut script)?;
    Ok(String::from_utf8_lossy(&script).into_owned())
}

/// Completes for the script of a shell, and exits. Returns if it is not called by one.
pub(super) fn for_shell(parser: Parser) {
    PARSER.get_or_init(|| parser);
    CompleteEnv::with_factory(parser).var(VARIABLE).complete();
}

/// Completes for kubectl.
pub(super) fn for_kubectl(arguments: Vec<OsString>, parser: Parser) -> ExitCode {
    let last = arguments.len().saturating_sub(1);
    let candidates = complete(&mut parser(), arguments, last, None).unwrap_or_default();
    match print(&for_cobra(&candidates)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn for_cobra(candidates: &[CompletionCandidate]) -> String {
    let line = |candidate: &CompletionCandidate| {
        let value = candidate.get_value().to_string_lossy();
        match candidate.get_help().map(ToString::to_string) {
            Some(help) => format!("{value}\t{}\n", help.lines().next().unwrap_or_default()),
            None => format!("{value}\n"),
        }
    };
    let shown = candidates.iter().filter(|candidate| !candidate.is_hide_set());
    shown.map(line).collect::<String>() + NO_FILES
}

/// Completes names of StatefulSets. Without an answer of the cluster there are none.
pub(super) fn sets() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let names = names(words(std::env::args_os().collect()));
        names
            .unwrap_or_default()
            .into_iter()
            .map(CompletionCandidate::new)
            .collect()
    })
}

/// The words of the line to complete. The script of a shell gives them after `--`.
fn words(arguments: Vec<OsString>) -> Vec<OsString> {
    let is_for_shell = arguments.get(1).is_some_and(|word| word == "--");
    arguments.into_iter().skip(if is_for_shell { 2 } else { 0 }).collect()
}

/// The names of the StatefulSets in the namespace of this line.
fn names(words: Vec<OsString>) -> Option<Vec<String>> {
    let matches = PARSER.get()?().ignore_errors(true).try_get_matches_from(words).ok()?;
    let cluster = ClusterArguments::from_arg_matches(&matches).ok()?;
    let listed = async {
        let (client, namespace) = cluster.connect().await.ok()?;
        let all = ListParams::default();
        // Nothing else may be printed.
        let listed = list::<Bare>(&client, Some(&namespace), &cluster::sets(), &all)
            .await
            .ok()?
            .items;
        Some(listed.into_iter().filter_map(|set| set.metadata.name).collect())
    };
    runtime()
        .ok()?
        .block_on(async { timeout(PATIENCE, listed).await.ok()? })
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap_complete::Shell;
    use clap_complete::engine::complete;

    use super::{for_cobra, script, words};
    use crate::cli::arguments::command;

    fn line(text: &str) -> Vec<OsString> {
        text.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn script_for_each_shell_calls_the_program() {
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = script(shell).expect("a script");
            assert!(
                script.contains("COMPLETE") && script.contains("claim-rollout"),
                "{shell}: {script}"
            );
        }
    }

    #[test]
    fn candidates_are_commands_flags_and_values() {
        for (text, expected) in [
            (
                "claim-rollout wit",
                "withdraw\tWithdraw the staged change of a StatefulSet\n:4\n",
            ),
            ("claim-rollout artif", ":4\n"),
            (
                "claim-rollout undo web --to-rev",
                "--to-revision\tRevision to roll back to",
            ),
            ("claim-rollout -n a status -o js", "json\tJSON\n:4\n"),
        ] {
            let arguments = line(text);
            let last = arguments.len() - 1;
            let found = complete(&mut command(None), arguments, last, None).expect("candidates");
            let found = for_cobra(&found);
            assert!(found.starts_with(expected), "{text}: {found}");
        }
    }

    #[test]
    fn words_of_a_shell_are_after_dashes() {
        for (text, expected) in [
            ("claim-rollout -- claim-rollout status w", "claim-rollout status w"),
            (
                "kubectl_complete-claim_rollout status w",
                "kubectl_complete-claim_rollout status w",
            ),
        ] {
            assert_eq!(words(line(text)), line(expected));
        }
    }
}

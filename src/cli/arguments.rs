//! The subcommands, and how a command line becomes one of them.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use super::cluster::ClusterArguments;
use super::process::{PLUGIN, program_called, stem, wait_for};
use super::{
    annotate, completion, controller, doctor, drift, examples, history, plan, replace, retry, review, status, undo,
    version, webhook, withdraw,
};

/// Change volumeClaimTemplates of StatefulSets on a stock Kubernetes cluster
#[derive(Debug, Parser)]
#[command(name = "claim-rollout", version)]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) cluster: ClusterArguments,
    #[command(subcommand)]
    command: Command,
}

// To add a subcommand: a file beside this one, a variant here with the arguments, an arm in `dispatch`.
#[derive(Debug, Subcommand)]
enum Command {
    Completion(completion::Arguments),
    Controller(controller::Arguments),
    Doctor(doctor::Arguments),
    Drift(drift::Arguments),
    History(history::Arguments),
    /// Pause the rollouts of StatefulSets: nothing new begins
    Pause(annotate::Arguments),
    Plan(plan::Arguments),
    Replace(replace::Arguments),
    /// Resume the rollouts of paused StatefulSets
    Resume(annotate::Arguments),
    Retry(retry::Arguments),
    Review(review::Arguments),
    Status(status::Arguments),
    Undo(undo::Arguments),
    Version(version::Arguments),
    Wait(status::wait::Arguments),
    Webhook(webhook::Arguments),
    Withdraw(withdraw::Arguments),
}

/// Parses the arguments of this process and runs the subcommand.
#[must_use]
pub fn main() -> ExitCode {
    completion::for_shell(parser);
    run(std::env::args_os().collect())
}

/// Runs the program with these arguments; the first is the name of the program.
fn run(arguments: Vec<OsString>) -> ExitCode {
    if stem(arguments.first()) == Some(completion::PLUGIN_COMPLETER.as_ref()) {
        return completion::for_kubectl(arguments, parser);
    }
    let parsed = command(arguments.first()).try_get_matches_from(arguments);
    match parsed.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(arguments) => dispatch(arguments),
        Err(error) => {
            // A failure to print does not change the exit code.
            error.print().ok();
            ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
        }
    }
}

fn dispatch(arguments: Arguments) -> ExitCode {
    match arguments.command {
        Command::Completion(completion) => wait_for(async { completion::run(&completion) }),
        Command::Controller(controller) => wait_for(controller::run(&arguments.cluster, controller)),
        Command::Doctor(doctor) => doctor::run(&arguments.cluster, &doctor),
        Command::Drift(drift) => drift::run(&arguments.cluster, &drift),
        Command::History(history) => wait_for(history::run(&arguments.cluster, &history)),
        Command::Pause(sets) => wait_for(annotate::run(&arguments.cluster, &sets, true)),
        Command::Plan(plan) => plan::run(&arguments.cluster, &plan),
        Command::Replace(replace) => replace::run(&arguments.cluster, &replace),
        Command::Resume(sets) => wait_for(annotate::run(&arguments.cluster, &sets, false)),
        Command::Retry(retry) => wait_for(retry::run(&arguments.cluster, &retry)),
        Command::Review(review) => review::run(&review),
        Command::Status(status) => status::run(&arguments.cluster, &status),
        Command::Undo(undo) => wait_for(undo::run(&arguments.cluster, &undo)),
        Command::Version(version) => wait_for(version::run(&arguments.cluster, &version)),
        Command::Wait(wait) => status::wait::run(&arguments.cluster, &wait),
        Command::Webhook(webhook) => wait_for(webhook::run(&arguments.cluster, webhook)),
        Command::Withdraw(withdraw) => wait_for(withdraw::run(&arguments.cluster, &withdraw)),
    }
}

/// The parser, whatever the user typed.
#[must_use]
pub fn parser() -> clap::Command {
    command(None)
}

/// What runs in a cluster, or in place of one: the help of the plugin does not list it.
const OF_CLUSTERS: [&str; 3] = ["controller", "review", "webhook"];

/// The parser, with usage lines for the name that the user typed.
pub(super) fn command(called: Option<&OsString>) -> clap::Command {
    let program = program_called(called);
    let command = examples::add(Arguments::command(), program);
    if program != PLUGIN {
        return command;
    }
    let hide = |command: clap::Command, name| command.mut_subcommand(name, |command| command.hide(true));
    OF_CLUSTERS.into_iter().fold(command.bin_name(PLUGIN), hide)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::Parser as _;

    use super::{Arguments, command, program_called};

    #[test]
    fn parser_is_consistent() {
        command(None).debug_assert();
    }

    #[test]
    fn command_as_plugin_has_kubectl_usage() {
        let usage = |path: &str| command(Some(&OsString::from(path))).render_usage().to_string();
        assert!(usage("/usr/bin/kubectl-claim_rollout").starts_with("Usage: kubectl claim-rollout "));
        assert!(usage("/usr/bin/claim-rollout").starts_with("Usage: claim-rollout "));
        assert_eq!(
            program_called(Some(&OsString::from("/usr/bin/kubectl-claim_rollout"))),
            "kubectl claim-rollout"
        );
        assert_eq!(program_called(None), "claim-rollout");
    }

    #[test]
    fn help_of_the_plugin_lists_no_command_of_clusters() {
        let listed = |path: &str| {
            let help = command(Some(&OsString::from(path))).render_help().to_string();
            let first = help
                .lines()
                .filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
            let first: Vec<String> = first.map(str::to_owned).collect();
            ["controller", "review", "webhook", "status"].map(|name| first.iter().any(|word| word == name))
        };
        assert_eq!(listed("kubectl-claim_rollout"), [false, false, false, true]);
        assert_eq!(listed("claim-rollout"), [true; 4]);
        let line = ["kubectl-claim_rollout", "review", "review.json"];
        assert!(
            command(Some(&OsString::from(line[0])))
                .try_get_matches_from(line)
                .is_ok()
        );
    }

    #[test]
    fn namespace_flag_before_or_after_subcommand() {
        for line in [
            "claim-rollout -n a status web",
            "claim-rollout status web -n a",
            "claim-rollout status -n a web",
        ] {
            let arguments = Arguments::try_parse_from(line.split(' ')).expect(line);
            assert_eq!(arguments.cluster.namespace.as_deref(), Some("a"), "{line}");
        }
    }
}

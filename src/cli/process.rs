//! What subcommands need of the process: the name of the program, threads, and errors in words.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context as _;

use super::output::note;

/// The program as a plugin of kubectl.
pub(super) const PLUGIN: &str = "kubectl claim-rollout";

/// The command that runs this program, for texts that name a command.
pub(super) fn program() -> &'static str {
    program_called(std::env::args_os().next().as_ref())
}

pub(super) fn program_called(path: Option<&OsString>) -> &'static str {
    if stem(path).is_some_and(|name| name == "kubectl-claim_rollout") {
        PLUGIN
    } else {
        "claim-rollout"
    }
}

/// The name of a program without its folder, and without `.exe`.
pub(super) fn stem(path: Option<&OsString>) -> Option<&OsStr> {
    Path::new(path?).file_stem()
}

/// Runs a subcommand. Exits with 0, or with 1 and the error in one line.
pub(super) fn wait_for(task: impl Future<Output = anyhow::Result<()>>) -> ExitCode {
    exit(async { task.await.map(|()| ExitCode::SUCCESS) }, 1)
}

/// Runs a subcommand that has exit codes of its own. An error is printed in one line, and exits with `failed`.
pub(super) fn exit(task: impl Future<Output = anyhow::Result<ExitCode>>, failed: u8) -> ExitCode {
    runtime()
        .and_then(|runtime| runtime.block_on(task))
        .unwrap_or_else(|error| {
            note(&format!("error: {}", in_words(&error)));
            ExitCode::from(failed)
        })
}

/// Acts on each of these StatefulSets, as kubectl does: one that fails keeps no other from it.
///
/// # Errors
/// The last one. Those before it are printed.
pub(super) async fn for_each(names: &[String], act: impl AsyncFn(&str) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let mut failed = None;
    for name in names {
        let Err(error) = act(name).await else {
            continue;
        };
        if let Some(before) = failed.replace(error) {
            note(&format!("error: {}", in_words(&before)));
        }
    }
    failed.map_or(Ok(()), Err)
}

/// An error and its causes in one line. An error of the API server is its message alone, as kubectl prints it.
pub(super) fn in_words(error: &anyhow::Error) -> String {
    let mut words = String::new();
    for cause in error.chain() {
        let answer = match cause.downcast_ref() {
            Some(kube::Error::Api(status)) => Some(status.message.clone()),
            // Its text repeats that of its cause.
            Some(kube::Error::Service(_)) => continue,
            _ => None,
        };
        let text = answer.clone().unwrap_or_else(|| cause.to_string());
        // Some errors repeat their cause.
        if !words.contains(&text) {
            let separator = if words.is_empty() { "" } else { ": " };
            words += &format!("{separator}{text}");
        }
        if answer.is_some() {
            break;
        }
    }
    words
}

pub(super) fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Runtime::new().context("failed to start threads")
}

#[cfg(test)]
mod tests {
    use super::in_words;

    #[test]
    fn error_of_api_server_is_its_message_once() {
        let status = kube::core::Status::failure("exceeded quota", "Forbidden").with_code(403);
        let error = anyhow::Error::new(kube::Error::Api(status.boxed())).context("claims");
        assert_eq!(in_words(&error), "claims: exceeded quota");
        let repeated = anyhow::anyhow!("refused")
            .context("connect: refused")
            .context("cluster");
        assert_eq!(in_words(&repeated), "cluster: connect: refused");
    }
}

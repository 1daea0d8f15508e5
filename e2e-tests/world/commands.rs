//! Command lines of users.

use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde::de::DeserializeOwned;

use super::{Cluster, Process, eventually};

/// The result of a program.
#[derive(Clone, Debug)]
pub(crate) struct Output {
    /// Whether the exit code is 0.
    pub(crate) success: bool,
    /// The exit code; none if the program was killed.
    pub(crate) code: Option<i32>,
    /// Standard output.
    pub(crate) stdout: String,
    /// Standard error.
    pub(crate) stderr: String,
}

/// The words of a command line. What stands in single quotes is one word.
pub(crate) fn words(line: &str) -> Vec<&str> {
    let parts = line.split('\'').enumerate();
    let words = parts.flat_map(|(at, part)| match at % 2 {
        0 => part.split_whitespace().collect(),
        _ => vec![part],
    });
    words.collect()
}

/// A command that runs beside a test.
pub(crate) struct Background(Process);

impl Background {
    /// Waits until it has printed this text.
    pub(crate) async fn until_printed(&self, text: &str, limit: Duration) -> anyhow::Result<()> {
        let printed = eventually(text, limit, async || Ok(self.0.log().contains(text).then_some(())));
        printed.await.with_context(|| self.0.log())
    }

    /// Waits for its end, and returns all that it has printed.
    pub(crate) async fn until_ended(mut self, limit: Duration) -> anyhow::Result<(ExitStatus, String)> {
        let ended = eventually("the command to end", limit, async || Ok(self.0.status()?));
        let ended = ended.await?;
        Ok((ended, self.0.log()))
    }
}

impl Cluster {
    /// Starts one of the binaries with a kubeconfig, with this name for its log.
    pub(crate) fn begin(
        &self,
        name: &str,
        program: &str,
        arguments: &[&str],
        kubeconfig: &Path,
    ) -> anyhow::Result<Background> {
        let mut arguments: Vec<String> = arguments.iter().map(|&argument| argument.to_owned()).collect();
        arguments.push(format!("--kubeconfig={}", kubeconfig.display()));
        Process::start(name, &self.bin(program), &arguments, self.folder()).map(Background)
    }

    /// Runs kubectl as the administrator (or with `--as` as anybody else), with `stdin` as its input.
    pub(crate) async fn kubectl(&self, arguments: &[&str], stdin: &str) -> anyhow::Result<Output> {
        self.run("kubectl", arguments, &[], stdin).await
    }

    /// Runs kubectl as the administrator, which must succeed.
    pub(crate) async fn done(&self, arguments: &[&str], stdin: &str) -> anyhow::Result<Output> {
        let output = self.kubectl(arguments, stdin).await?;
        ensure!(output.success, "kubectl {}: {}", arguments.join(" "), output.stderr);
        Ok(output)
    }

    /// Runs a command line of kubectl as the administrator, which must succeed.
    pub(crate) async fn typed(&self, line: &str) -> anyhow::Result<Output> {
        self.done(&words(line), "").await
    }

    /// The JSON that a command line of kubectl prints as the administrator.
    pub(crate) async fn read<T: DeserializeOwned>(&self, line: &str) -> anyhow::Result<T> {
        Ok(serde_json::from_str(&self.typed(line).await?.stdout)?)
    }

    /// Writes a file for a command line into the folder of the cluster. Returns its path.
    pub(crate) fn write(&self, file: &str, content: &str) -> anyhow::Result<String> {
        let path = self.folder().join(file);
        std::fs::write(&path, content)?;
        Ok(path.to_str().context("a path in UTF-8")?.to_owned())
    }

    /// Runs one of the binaries as the administrator, with `environment` added to the environment of this program.
    pub(crate) async fn run(
        &self,
        program: &str,
        arguments: &[&str],
        environment: &[(&str, &str)],
        stdin: &str,
    ) -> anyhow::Result<Output> {
        // A file as input, so that nothing has to write into a pipe while it reads from two others.
        let input = tempfile::tempfile()?;
        std::io::Write::write_all(&mut &input, stdin.as_bytes())?;
        std::io::Seek::rewind(&mut &input)?;
        let output = tokio::process::Command::new(self.bin(program))
            .args(arguments)
            .env("KUBECONFIG", self.kubeconfig())
            .env("HOME", self.folder())
            .envs(environment.iter().copied())
            .current_dir(self.folder())
            .stdin(input)
            .kill_on_drop(true)
            .output()
            .await?;
        Ok(Output {
            success: output.status.success(),
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout)?,
            stderr: String::from_utf8(output.stderr)?,
        })
    }
}

//! The output of the demo.

use std::io::{IsTerminal as _, stdout};

use anyhow::ensure;

use crate::world::installation::binary;
use crate::world::{Cluster, PATIENCE, eventually, in_foreground};

const COLUMNS: usize = 80;

/// Standard output, or a buffer to read later.
#[allow(dead_code, reason = "the playground has the one, a test the other")]
pub(crate) enum Screen {
    Standard,
    Paper(String),
}

impl Screen {
    /// Prints text unchanged.
    pub(super) fn print(&mut self, text: &str) {
        match self {
            Self::Standard => print!("{text}"),
            Self::Paper(paper) => paper.push_str(text),
        }
    }

    pub(super) fn title(&mut self, text: &str) {
        let title = self.bold(text);
        self.print(&format!("\n{title}\n\n"));
    }

    pub(super) fn command(&mut self, text: &str) {
        let command = self.bold(&format!("$ {text}"));
        self.print(&format!("{command}\n"));
    }

    fn bold(&self, text: &str) -> String {
        match self {
            Self::Standard if stdout().is_terminal() => format!("\x1b[1m{text}\x1b[0m"),
            _ => text.to_owned(),
        }
    }

    /// Prints text and breaks long lines between words.
    pub(super) fn wrapped(&mut self, text: &str) {
        for line in text.lines() {
            self.print(&format!("{}\n", fold(line)));
        }
    }

    /// Runs claim-rollout to its end, which must be a success. On a terminal it may draw.
    pub(super) async fn run(&mut self, cluster: &Cluster, arguments: &[&str]) -> anyhow::Result<()> {
        let binary = binary()?;
        match self {
            Self::Standard => {
                let kubeconfig = cluster.kubeconfig();
                let mut child = in_foreground(&binary, arguments, &[("KUBECONFIG", kubeconfig.as_os_str())])?;
                let ended = eventually("claim-rollout to end", PATIENCE, async || Ok(child.status()?)).await?;
                ensure!(ended.success(), "claim-rollout {}: {ended}", arguments.join(" "));
            }
            Self::Paper(paper) => {
                let output = cluster.run(&binary.to_string_lossy(), arguments, &[], "").await?;
                ensure!(output.success, "claim-rollout {}: {output:?}", arguments.join(" "));
                paper.push_str(&(output.stderr + &output.stdout));
            }
        }
        Ok(())
    }
}

/// Breaks a line between words and keeps its indentation. Shortens a word that is longer than a line (the API server
/// prints whole objects).
fn fold(line: &str) -> String {
    let text = line.trim_start();
    let indent = line.len() - text.len();
    let mut lines = vec![" ".repeat(indent)];
    let mut column = indent;
    for word in text.split(' ').map(shorten) {
        let length = word.chars().count();
        if column > indent && column + 1 + length > COLUMNS {
            lines.push(" ".repeat(indent));
            column = indent;
        }
        let gap = if column > indent { " " } else { "" };
        let last = lines.len() - 1;
        lines[last] += &format!("{gap}{word}");
        column += gap.len() + length;
    }
    lines.join("\n")
}

fn shorten(word: &str) -> String {
    const START: usize = 50;
    const END: usize = 4;
    let length = word.chars().count();
    if length <= COLUMNS {
        return word.to_owned();
    }
    let start: String = word.chars().take(START).collect();
    let end: String = word.chars().skip(length - END).collect();
    format!("{start}…{end}")
}

//! What `docs/commands.md` shows is what the commands print.

use std::path::Path;

use anyhow::{Context as _, ensure};

use super::plans::until_counted;
use super::{Stage, items, run, scene};
use crate::cluster::eventually;
use crate::scenarios::scene::{PATIENCE, Scene, manifest};

/// The sections of the story that is played here; those after them have plays of their own.
const STORY: [&str; 4] = [
    "## plan: what would happen",
    "## status: how far it is",
    "## The same with kubectl",
    "## history, undo, withdraw: what was wished, and back",
];

/// The commands of a document, and what it says that they print, in their order.
pub(crate) struct Book {
    commands: std::vec::IntoIter<(String, String)>,
    /// What is printed where it is not what the document says.
    wrong: String,
}

/// A command, and what the document says that it prints.
pub(crate) struct Command {
    typed: String,
    shown: String,
}

impl Book {
    /// Those of the sections under these headings.
    pub(crate) fn under(headings: &[&str], file: &str) -> anyhow::Result<Self> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        let text = std::fs::read_to_string(path)?;
        let sections = headings.iter().map(|heading| {
            let (_, rest) = text
                .split_once(&format!("\n{heading}\n"))
                .with_context(|| (*heading).to_owned())?;
            Ok(rest.find("\n## ").map_or(rest, |end| &rest[..end]))
        });
        Ok(Self::read(&sections.collect::<anyhow::Result<Vec<_>>>()?.concat()))
    }

    fn read(document: &str) -> Self {
        let mut commands: Vec<(String, String)> = Vec::new();
        for block in document.split("```console\n").skip(1) {
            let block = block.split("```").next().unwrap_or_default();
            for line in block.lines() {
                match (line.strip_prefix("$ "), commands.last_mut()) {
                    (Some(command), _) => commands.push((command.to_owned(), String::new())),
                    (None, Some((_, output))) => *output += &format!("{line}\n"),
                    (None, None) => {}
                }
            }
        }
        Self {
            commands: commands.into_iter(),
            wrong: String::new(),
        }
    }

    /// Types the next command, which must be this one, and compares what it prints.
    async fn types(&mut self, scene: &Scene<'_>, command: &str) -> anyhow::Result<()> {
        let documented = self.expect(command)?;
        let words: Vec<&str> = command.split(' ').collect();
        let output = match words[0] {
            "kubectl" => scene.kubectl(&words[1..], "").await?,
            _ => run(scene, &words[1..], "").await?,
        };
        let printed = output.stderr + &output.stdout;
        // Kubewarden calls it so.
        let printed = printed.replace(
            "claim-rollout.policy-host.test",
            "clusterwide-claim-rollout.kubewarden.admission",
        );
        self.compare(&documented, &printed);
        Ok(())
    }

    /// The next command, which must be this one.
    pub(crate) fn expect(&mut self, typed: &str) -> anyhow::Result<Command> {
        let (documented, shown) = self.commands.next().context("no further command")?;
        ensure!(documented == typed, "expected {typed}, but found {documented}");
        Ok(Command {
            typed: documented,
            shown,
        })
    }

    /// Notes what a command printed, if it is not what is shown.
    pub(crate) fn compare(&mut self, command: &Command, printed: &str) {
        if !is_shown(printed, &command.shown) {
            self.wrong += &format!("$ {}\n{printed}", command.typed);
        }
    }

    /// Fails if there are further commands, or any printed something else; it shows what.
    pub(crate) fn end(mut self) -> anyhow::Result<()> {
        let further = self.commands.next();
        ensure!(further.is_none(), "expected no further command, but found {further:?}");
        ensure!(self.wrong.is_empty(), "docs/commands.md should show:\n{}", self.wrong);
        Ok(())
    }
}

/// True iff the document shows what was printed. What stands before a line of three dots is left out; Events, which kubectl
/// lists in the order of their seconds, may stand in any.
fn is_shown(printed: &str, expected: &str) -> bool {
    let Some((_, expected)) = expected.split_once("...\n") else {
        return essence(printed) == essence(expected);
    };
    let Some(begin) = expected.lines().next().and_then(|first| printed.find(first)) else {
        return false;
    };
    let [mut printed, mut expected] = [essence(&printed[begin..]), essence(expected)];
    printed.sort();
    expected.sort();
    printed == expected
}

/// The words of a text but for ages, and for the space between columns, whose width depends on them.
fn essence(text: &str) -> Vec<Vec<&str>> {
    let word = |word| if is_age(word) { "AGE" } else { word };
    text.lines()
        .map(|line| line.split_whitespace().map(word).collect())
        .collect()
}

/// `12s`, `2m3s`
fn is_age(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_digit())
        && word.ends_with('s')
        && word
            .chars()
            .all(|character| character.is_ascii_digit() || "ms".contains(character))
}

pub(super) async fn the_document_shows_what_the_commands_print(stage: &Stage) -> anyhow::Result<()> {
    let mut book = Book::under(&STORY, "docs/commands.md")?;
    let scene = scene(stage, "shop").await?;
    let file = scene.cluster.folder().join("web.yaml");
    std::fs::write(&file, manifest(3, "2Gi"))?;
    book.types(&scene, "claim-rollout plan -f web.yaml").await?;
    book.types(&scene, "kubectl apply -f web.yaml").await?;
    scene.until_complete(3, "2Gi").await?;
    scene.until_told("ClaimRolloutComplete").await?;

    scene
        .done(&["create", "quota", "storage", "--hard=requests.storage=8Gi"], "")
        .await?;
    until_counted(&scene, "6Gi").await?;
    std::fs::write(&file, manifest(3, "4Gi"))?;
    book.types(&scene, "claim-rollout plan -f web.yaml").await?;
    book.types(&scene, "claim-rollout status web").await?;
    book.types(&scene, "kubectl get claimrollouts").await?;
    book.types(&scene, "kubectl get claimrollouts -o wide").await?;
    book.types(&scene, "kubectl wait --for=condition=Ready claimrollout/web")
        .await?;
    book.types(&scene, "kubectl describe sts web").await?;

    scene.done(&["apply", "-f", "web.yaml"], "").await?;
    let stuck = eventually("a claim to be refused, and the wish to be kept", PATIENCE, async || {
        let refused = scene.rollout().await?["status"]["claims"][0]["state"] == "Refused";
        let wishes = items(&run(&scene, &["history", "web", "-o", "json"], "").await?)?;
        Ok((refused && wishes.last().is_some_and(|last| last["number"] == 2)).then_some(()))
    });
    stuck.await.with_context(|| scene.log())?;
    book.types(&scene, "claim-rollout history web").await?;
    book.types(&scene, "claim-rollout undo web").await?;
    book.types(&scene, "claim-rollout withdraw web").await?;
    book.end()
}

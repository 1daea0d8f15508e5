//! `docs/quick-start.md`, typed word for word into a real cluster: a cluster for each way to install.
//! [`stands::STAND_INS`] lists the commands that cannot be run here as they are.

pub(crate) mod kubewarden;
pub(crate) mod stands;
pub(crate) mod walkthrough;

use std::collections::BTreeSet;

use anyhow::{Context as _, ensure};

use crate::world::book::{Book, section};
use crate::world::document::text;
use stands::STAND_INS;
use walkthrough::{Kubewarden, Walkthrough};

pub(crate) const DOCUMENT: &str = "docs/quick-start.md";
/// The sections that all users follow, first and last.
pub(crate) const FIRST: &str = "## 1. Install the plugin of kubectl";
pub(crate) const LAST: &str = "## 3. Make volumes larger";
/// The ways to install, in between.
pub(crate) const WITH_KUBEWARDEN: &str = "### With Kubewarden";
pub(crate) const WITHOUT_KUBEWARDEN: &str = "### Without Kubewarden";
pub(crate) const WITH_HELM: &str = "### With Helm";
/// In place of the first two.
const BUILD: &str = "## Build it yourself";

/// Runs all commands of a way to install.
async fn walk(install: &[&str], kubewarden: Kubewarden) -> anyhow::Result<()> {
    let mut book = Book::under(&[install, &[LAST]].concat(), DOCUMENT)?;
    let mut walkthrough = Walkthrough::begin(kubewarden).await?;
    while let Some(command) = book.next() {
        let printed = walkthrough.types(&command).await;
        let printed = printed.with_context(|| format!("{install:?}: {}", command.typed))?;
        book.compare(&command, &printed);
    }
    book.end()?;
    walkthrough.end().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn with_kubewarden_every_command_prints_what_is_shown() -> anyhow::Result<()> {
    walk(&[FIRST, WITH_KUBEWARDEN], Kubewarden::IsThere).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn without_kubewarden_every_command_prints_what_is_shown() -> anyhow::Result<()> {
    walk(&[FIRST, WITHOUT_KUBEWARDEN], Kubewarden::IsNot).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn with_helm_every_command_prints_what_is_shown() -> anyhow::Result<()> {
    walk(&[FIRST, WITH_HELM], Kubewarden::IsThere).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn built_yourself_every_command_prints_what_is_shown() -> anyhow::Result<()> {
    walk(&[BUILD], Kubewarden::IsThere).await
}

fn typed(book: Book) -> BTreeSet<String> {
    book.map(|command| command.typed).collect()
}

#[test]
fn every_command_is_run_and_every_stand_in_is_used() -> anyhow::Result<()> {
    let all = typed(Book::read(DOCUMENT)?);
    let roads = [FIRST, WITH_KUBEWARDEN, WITHOUT_KUBEWARDEN, WITH_HELM, BUILD, LAST];
    assert_eq!(typed(Book::under(&roads, DOCUMENT)?), all);
    for stand_in in STAND_INS {
        ensure!(
            all.contains(stand_in.typed),
            "{DOCUMENT} has no longer {}, for which something stands because {}",
            stand_in.typed,
            stand_in.why
        );
    }
    Ok(())
}

/// The sections of README.md that show the installation.
const INSTALL: [&str; 1] = ["## Install"];

#[test]
fn readme_installs_with_the_same_commands() -> anyhow::Result<()> {
    let readme = text("README.md")?;
    for heading in INSTALL {
        section(&readme, heading).with_context(|| heading.to_owned())?;
    }
    let (all, shown) = (typed(Book::read(DOCUMENT)?), typed(Book::under(&INSTALL, "README.md")?));
    assert!(!shown.is_empty());
    assert_eq!(shown.difference(&all).collect::<Vec<_>>(), Vec::<&String>::new());
    Ok(())
}

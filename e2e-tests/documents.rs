//! The documents refer to things that exist.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::document::text;
use crate::repository::root;

/// README.md, CONTRIBUTING.md, CHANGELOG.md, the files in docs/ and examples/README.md.
fn documents() -> anyhow::Result<Vec<PathBuf>> {
    let mut all: Vec<PathBuf> = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "examples/README.md"]
        .map(|file| root().join(file))
        .into();
    for entry in std::fs::read_dir(root().join("docs"))? {
        all.push(entry?.path());
    }
    Ok(all)
}

/// The targets of `[text](target)`.
fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").skip(1).filter_map(|rest| rest.split(')').next())
}

#[test]
fn every_link_leads_to_an_existing_file() -> anyhow::Result<()> {
    let mut count = 0;
    for document in documents()? {
        let text = std::fs::read_to_string(&document)?;
        let folder = document.parent().context("a folder")?;
        for link in links(&text).filter(|link| !link.starts_with("http") && !link.starts_with('#')) {
            let file = link.split('#').next().unwrap_or_default();
            assert!(folder.join(file).exists(), "{}: {link}", document.display());
            count += 1;
        }
    }
    assert!(count > 40, "{count}");
    Ok(())
}

#[test]
fn every_document_is_listed_in_the_readme() -> anyhow::Result<()> {
    let readme = text("README.md")?;
    for entry in std::fs::read_dir(root().join("docs"))? {
        let file = entry?
            .file_name()
            .into_string()
            .map_err(|_| anyhow::anyhow!("a name in UTF-8"))?;
        assert!(readme.contains(&format!("(docs/{file})")), "{file}");
    }
    Ok(())
}

/// All of `src/` in one text, with multi-line strings joined.
fn sources(folder: &Path, text: &mut String) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            sources(&path, text)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            *text += &std::fs::read_to_string(path)?;
        }
    }
    Ok(())
}

/// Words of Kubernetes.
const NOT_OURS: [&str; 3] = [
    "field is immutable",
    "updates to statefulset spec for fields other than",
    "failed calling webhook",
];

/// Users search for the text that they see, so a symptom must be the text of the program.
#[test]
fn every_symptom_is_a_text_of_the_program() -> anyhow::Result<()> {
    let mut program = String::new();
    sources(&root().join("src"), &mut program)?;
    program += &text("deploy/guard/replacing.yaml")?;
    let document = text("docs/troubleshooting.md")?;
    let mut count = 0;
    for row in document.lines().filter(|line| line.starts_with("| `")) {
        let first = row.split(" | ").next().unwrap_or_default();
        for symptom in first.split('`').skip(1).step_by(2) {
            for part in symptom.split('…').map(str::trim).filter(|part| !part.is_empty()) {
                let part = part.trim_start_matches("; ");
                assert!(
                    NOT_OURS.contains(&part) || program.contains(part),
                    "no source contains {part:?}"
                );
                count += 1;
            }
        }
    }
    assert!(count > 25, "{count}");
    Ok(())
}

//! A support bundle: a folder with what somebody needs who has to find out what is wrong with an installation.
//!
//! It contains no Secret, and of other objects only the fields in [`kinds`]. `docs/commands.md` lists them.
//!
//! | file | content |
//! |---|---|
//! | [`kinds`], [`allowed`] | which objects, and which of their fields |
//! | [`scope`] | which StatefulSets |
//! | [`gather`] | the reads from the cluster |
//! | [`log`] | what is left out of logs |

mod allowed;
mod gather;
mod kinds;
mod log;
mod scope;

use std::fs::{self, DirBuilder};
use std::path::Path;

use anyhow::{Context as _, ensure};
use jiff::Timestamp;
use serde_json::{Value, json};

use self::gather::{Raw, typed};
use super::super::process::in_words;
use super::facts::{FoundJournal, InstallationFacts};
use super::finding::Finding;
use super::gather::Installation;
use crate::cli::output::{self, now};

/// What the checks of the doctor found, or why they failed.
pub(super) type Examined = anyhow::Result<(InstallationFacts, Vec<Finding<String>>)>;

/// A file of a bundle.
#[derive(Debug)]
struct BundleFile {
    name: String,
    text: String,
}

/// Checks that a bundle can be written into the folder: it is empty, or does not exist.
///
/// # Errors
/// If something is in it, or it cannot be read.
pub(super) fn check(folder: &Path) -> anyhow::Result<()> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        entries => entries.with_context(|| folder.display().to_string())?.count(),
    };
    ensure!(
        entries == 0,
        "{}: expected an empty folder for the bundle",
        folder.display()
    );
    Ok(())
}

/// Reads everything and writes the bundle. Returns the number of files.
///
/// # Errors
/// If a file cannot be written. What cannot be read is noted in the bundle.
pub(super) async fn write(place: &Installation, examined: &Examined, folder: &Path) -> anyhow::Result<usize> {
    let raw = place.raw().await;
    let files = files(&raw, examined, now())?;
    save(&files, folder).with_context(|| format!("failed to write the bundle {}", folder.display()))?;
    Ok(files.len())
}

/// The folder can be read by its user alone.
fn save(files: &[BundleFile], folder: &Path) -> anyhow::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder.join("logs"))?;
    for BundleFile { name, text } in files {
        fs::write(folder.join(name), text)?;
    }
    Ok(())
}

/// The files of the bundle.
fn files(raw: &Raw, examined: &Examined, now: Timestamp) -> anyhow::Result<Vec<BundleFile>> {
    let mut files = vec![
        file("README.txt", about(raw, now)),
        file("doctor.yaml", doctor(examined)?),
    ];
    for (kind, listed) in &raw.kinds {
        let Ok(objects) = listed else { continue };
        let ours = objects.iter().filter(|object| (kind.is_ours)(object, &raw.scope));
        let items: Vec<Value> = ours.map(|object| kind.shown(&typed(kind, object))).collect();
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
        files.push(file(kind.file, output::yaml(&list)?));
    }
    let logs = raw
        .logs
        .iter()
        .filter_map(|read| Some((&read.file, read.text.as_ref().ok()?)));
    files.extend(logs.map(|(name, text)| file(name, log::without_annotations(text))));
    Ok(files)
}

fn file(name: &str, text: String) -> BundleFile {
    let name = name.to_owned();
    BundleFile { name, text }
}

/// What the doctor found, and the journals: their names and how far they are, not what they contain.
fn doctor(examined: &Examined) -> anyhow::Result<String> {
    let document = match examined {
        Err(error) => json!({"error": in_words(error)}),
        Ok((facts, findings)) => json!({
            "checkedAt": facts.now.to_string(),
            "namespace": facts.namespace,
            "findings": findings,
            "journals": facts.journals.iter().map(journal).collect::<Vec<_>>(),
        }),
    };
    output::yaml(&document)
}

fn journal(found: &FoundJournal) -> Value {
    match &found.content {
        Ok(set) => json!({
            "secret": found.secret, "namespace": set.namespace, "name": set.name, "stage": set.stage,
            "began": set.began.to_string(),
        }),
        // The error may quote what the Secret contains.
        Err(_) => json!({"secret": found.secret, "stage": "unreadable"}),
    }
}

/// The list of what is in the bundle.
fn about(raw: &Raw, now: Timestamp) -> String {
    let program = env!("CARGO_PKG_VERSION");
    let server = &raw.server;
    let mut text = format!(
        "A support bundle of claim-rollout {program}, made at {now}; Kubernetes {server}.\n\n\
         It contains no Secret, no environment variable, no argument and no annotation of Pods, and no value of an\n\
         annotation that claim-rollout does not know. It does contain names, labels, images, user names, and messages\n\
         of other programs (Events, conditions, logs) as they are: read it before you send it.\n\n\
         doctor.yaml: the findings of claim-rollout doctor; journals of replacements by name and stage\n"
    );
    for (kind, listed) in &raw.kinds {
        text += &match listed {
            Ok(_) => format!("{}: {}\n", kind.file, kind.about),
            Err(why) => format!("{}: not read: {why}\n", kind.file),
        };
    }
    for log in &raw.logs {
        text += &match &log.text {
            Ok(_) => format!("{}: without the annotations that the controller writes\n", log.file),
            Err(why) => format!("{}: not read: {why}\n", log.file),
        };
    }
    text
}

#[cfg(test)]
#[path = "../bundle_tests.rs"]
mod tests;

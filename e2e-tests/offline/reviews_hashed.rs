//! The bytes of each review, as a list of hashes: a review changes with what it differs from, and the list shows it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use anyhow::ensure;
use sha2::{Digest as _, Sha256};

use crate::world::reviews_stored::{OBJECTS, Stored, file};

/// A line for each review: SHA-256 of the body, and the sentence.
const LIST: &str = "SHA256SUMS";
const UPDATE: &str = "UPDATE_EXPECTED=1 cargo test -p e2e-tests --no-default-features --test offline reviews_hashed";

#[test]
fn every_review_rebuilt_has_the_listed_bytes() -> anyhow::Result<()> {
    let stored = Stored::read()?;
    let mut found = String::new();
    for (sentence, _) in stored.reviews() {
        for byte in Sha256::digest(stored.body(sentence)?) {
            write!(found, "{byte:02x}")?;
        }
        writeln!(found, "  {sentence}")?;
    }
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        fs::write(file(LIST), found)?;
        return Ok(());
    }
    let listed = fs::read_to_string(file(LIST))?;
    let [listed, found] = [&listed, &found].map(|text| text.lines().collect::<BTreeSet<_>>());
    let missing = listed.difference(&found).map(|line| format!("- {line}\n"));
    let changed = found.difference(&listed).map(|line| format!("+ {line}\n"));
    let report: String = missing.chain(changed).collect();
    ensure!(report.is_empty(), "reviews/{LIST}:\n{report}accept them: {UPDATE}");
    Ok(())
}

#[test]
fn every_stored_object_is_used() -> anyhow::Result<()> {
    let stored = Stored::read()?;
    let mut used = BTreeSet::new();
    for (sentence, entry) in stored.reviews() {
        for name in &entry.claims {
            used.extend(stored.lineage(name)?.into_iter().map(|(name, _)| name));
        }
        ensure!(entry.response.is_some(), "{sentence:?} has no answer yet");
    }
    let objects = stored.entries.iter().filter(|(_, (family, _))| family == OBJECTS);
    let unused: Vec<_> = objects.filter(|(name, _)| !used.contains(name.as_str())).collect();
    ensure!(unused.is_empty(), "no review has these objects: {unused:#?}");
    Ok(())
}

//! The rings of the end-to-end tests: a folder for each, and somebody who runs it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use serde_json::Value;

use crate::world::document::text;
use crate::world::repository::root;

/// The folders with tests. The tests of `world` are those of what the others share; they run in the push ring.
const FOLDERS: [&str; 4] = ["cluster", "nightly", "offline", "world"];
/// What the push ring leaves out, in the Makefile.
const NOT_NIGHTLY: &str = "-- --skip nightly::";

/// Every Rust file below a folder of `e2e-tests`, relative to `e2e-tests`.
fn files(folder: &str) -> anyhow::Result<Vec<PathBuf>> {
    let (mut found, mut folders) = (Vec::new(), vec![PathBuf::from(folder)]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(root().join("e2e-tests").join(&folder))? {
            let entry = entry?;
            let path = folder.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    Ok(found)
}

fn read(file: &Path) -> anyhow::Result<String> {
    text(&format!("e2e-tests/{}", file.display()))
}

/// The module of a file, and the files that may declare it.
fn module(file: &Path) -> anyhow::Result<(String, Vec<PathBuf>)> {
    let module = if file.ends_with("mod.rs") {
        file.parent().context("a folder")?.to_owned()
    } else {
        file.with_extension("")
    };
    let name = module.file_name().context("a name")?.to_string_lossy().into_owned();
    let above = module.parent().context("a folder above")?;
    let mut declares = ["mod.rs", "main.rs"].map(|file| above.join(file)).to_vec();
    declares.extend([above.with_extension("rs"), PathBuf::from("main.rs")]);
    declares.retain(|file| root().join("e2e-tests").join(file).is_file());
    Ok((name, declares))
}

/// True iff a test begins in this line.
pub(super) fn is_test(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("#[test]") || line.starts_with("#[tokio::test")
}

/// The names in the folder of the nightly ring, each a part.
fn nightly() -> anyhow::Result<BTreeSet<String>> {
    let names = files("nightly")?.into_iter().filter_map(|file| {
        let name = file.iter().nth(1)?;
        Path::new(name)
            .file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
    });
    Ok(names.filter(|name| name != "mod").collect())
}

/// The words of a variable in the Makefile.
fn variable(makefile: &str, name: &str) -> anyhow::Result<BTreeSet<String>> {
    let line = makefile
        .lines()
        .find_map(|line| line.strip_prefix(&format!("{name} := ")));
    Ok(line.context("a variable")?.split(' ').map(str::to_owned).collect())
}

#[test]
fn every_file_is_a_module_of_its_ring() -> anyhow::Result<()> {
    let (mut lost, mut tests) = (Vec::new(), 0);
    for folder in FOLDERS {
        for file in files(folder)? {
            let (name, declares) = module(&file)?;
            // The filter of the nightly ring takes every module of this name.
            let is_misleading = name == "nightly" && file != Path::new("nightly/mod.rs");
            let mut is_declared = file.ends_with("main.rs");
            for declaring in declares {
                let text = read(&declaring)?;
                is_declared |= text.lines().any(|line| {
                    let line = line
                        .trim_start()
                        .trim_start_matches("pub(crate) ")
                        .trim_start_matches("pub ");
                    line == format!("mod {name};") || line == format!("mod {name} {{")
                });
            }
            if is_misleading || !is_declared {
                lost.push(file.display().to_string());
            }
            tests += read(&file)?.lines().filter(|line| is_test(line)).count();
        }
    }
    assert_eq!(lost, Vec::<String>::new(), "in no ring");
    assert!(tests > 90, "only {tests} tests were found");
    Ok(())
}

/// A test that is ignored has a target of its own, and only the nightly ring has such targets.
#[test]
fn ignored_test_is_run_by_a_target_of_its_own() -> anyhow::Result<()> {
    let runs = text("Makefile")? + &text("hack/release-dry-run")?;
    let mut ignored = BTreeSet::new();
    for folder in FOLDERS {
        for file in files(folder)? {
            if read(&file)?
                .lines()
                .any(|line| line.trim_start().starts_with("#[ignore"))
            {
                let part = file.iter().nth(1).map(|name| Path::new(name).with_extension(""));
                ignored.insert((folder, part.context("a part")?.display().to_string()));
            }
        }
    }
    assert!(ignored.len() >= 4, "{ignored:?}");
    for (folder, part) in ignored {
        assert_eq!(folder, "nightly", "{part}");
        let alone = format!("--ignored --nocapture nightly::{part}::");
        let one_by_one = format!("--ignored --nocapture --test-threads=1 nightly::{part}::");
        assert!(
            runs.contains(&alone) || runs.contains(&one_by_one),
            "nobody runs {part}"
        );
    }
    Ok(())
}

#[test]
fn each_ring_has_its_filter_and_each_part_its_row() -> anyhow::Result<()> {
    let makefile = text("Makefile")?;
    let runs: Vec<&str> = makefile.lines().filter(|line| line.contains("--test e2e")).collect();
    let all = runs.iter().filter(|line| line.ends_with("--test e2e")).count();
    let push = runs.iter().filter(|line| line.ends_with(NOT_NIGHTLY)).count();
    assert_eq!(
        [all, push],
        [1, 1],
        "the end-to-end tests of both rings, and of the push ring: {runs:#?}"
    );

    let parts = variable(&makefile, "NIGHTLY")?;
    let contributing = text("CONTRIBUTING.md")?;
    let rows: BTreeSet<&str> = contributing
        .split_once("### The nightly ring")
        .and_then(|(_, rest)| rest.split_once("\n### "))
        .context("a section")?
        .0
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once(" | "))
        .flat_map(|(cell, _)| cell.split('`').filter(|name| !name.trim_matches([',', ' ']).is_empty()))
        .collect();
    let known: BTreeSet<String> = parts.union(&nightly()?).cloned().collect();
    assert_eq!(
        rows,
        known.iter().map(String::as_str).collect(),
        "the rows of CONTRIBUTING.md"
    );

    let workflow: Value = serde_saphyr::from_str(&text(".github/workflows/nightly.yml")?)?;
    let jobs = workflow["jobs"]["part"]["strategy"]["matrix"]["include"].as_array();
    let jobs = jobs.context("a matrix")?.iter().filter_map(|job| job["part"].as_str());
    let jobs: BTreeSet<&str> = jobs.chain(["every-minor"]).collect();
    assert_eq!(
        jobs,
        parts.iter().map(String::as_str).collect(),
        "the jobs of nightly.yml"
    );
    Ok(())
}

//! The version, which several files state: all must agree, and with the tag.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

/// The parts of a reference to an image or to the policy after the registry.
const REFERENCES: [&str; 2] = ["claim-rollout/claim-rollout:", "claim-rollout/policy:"];
/// The folders and files that people apply or read, and that may contain references.
const TEXTS: [&str; 4] = ["deploy", "charts", "artifacthub-pkg.yml", "policy-metadata.yml"];
/// The registry of examples, which nothing that is released may name.
const PLACEHOLDER: &str = "registry.example.com";

/// The version in Cargo.toml.
pub(crate) fn of_cargo(root: &Path) -> anyhow::Result<String> {
    let text = read(root, "Cargo.toml")?;
    let line = text.lines().find_map(|line| line.strip_prefix("version = "));
    Ok(line
        .context("expected a version in Cargo.toml")?
        .trim_matches('"')
        .to_owned())
}

/// Checks that every file states the version of Cargo.toml, which it returns, and that a tag is that of the version.
///
/// # Errors
/// Names every file that disagrees.
pub(crate) fn check(root: &Path, tag: Option<&str>) -> anyhow::Result<String> {
    let version = of_cargo(root)?;
    let mut faults = Vec::new();
    let mut expect = |what: &str, expected: &str, found: &str| {
        if expected != found {
            faults.push(format!("{what}: expected {expected}, but found {found}"));
        }
    };
    for (what, found) in stated(root)? {
        expect(what, &version, &found);
    }
    for (file, reference, found) in references(root)? {
        let expected = if reference.contains("policy") {
            format!("v{version}")
        } else {
            version.clone()
        };
        expect(&format!("{file}: {reference}"), &expected, &found);
    }
    if let Some(tag) = tag {
        expect("the tag", &format!("v{version}"), tag);
        let heading = format!("## {version}");
        let named = read(root, "CHANGELOG.md")?
            .lines()
            .any(|line| line.starts_with(&heading));
        expect(
            "CHANGELOG.md",
            &heading,
            if named { &heading } else { "no such heading" },
        );
        for file in texts(root)? {
            let found = if read(root, &file)?.contains(PLACEHOLDER) {
                PLACEHOLDER
            } else {
                "none"
            };
            expect(&format!("{file}: a placeholder"), "none", found);
        }
    }
    if faults.is_empty() {
        Ok(version)
    } else {
        bail!("the files of a release disagree:\n  {}", faults.join("\n  "))
    }
}

/// What states the version, and the version.
fn stated(root: &Path) -> anyhow::Result<Vec<(&'static str, String)>> {
    let yaml = |file: &str| -> anyhow::Result<Value> { Ok(serde_saphyr::from_str(&read(root, file)?)?) };
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let (chart, package) = (yaml("charts/claim-rollout/Chart.yaml")?, yaml("artifacthub-pkg.yml")?);
    let metadata = yaml("policy-metadata.yml")?;
    let lock = read(root, "Cargo.lock")?;
    let locked = lock
        .split("[[package]]")
        .find(|package| package.contains("name = \"claim-rollout\"\n"))
        .and_then(|package| package.lines().find_map(|line| line.strip_prefix("version = ")));
    Ok(vec![
        ("Cargo.lock", locked.unwrap_or("none").trim_matches('"').to_owned()),
        ("version in Chart.yaml", text(&chart["version"])),
        ("appVersion in Chart.yaml", text(&chart["appVersion"])),
        ("artifacthub-pkg.yml", text(&package["version"])),
        (
            "policy-metadata.yml",
            text(&metadata["annotations"]["io.kubewarden.policy.version"]),
        ),
    ])
}

/// Every file with a reference, the reference without its tag, and the tag.
fn references(root: &Path) -> anyhow::Result<Vec<(String, &'static str, String)>> {
    let mut found = Vec::new();
    for file in texts(root)? {
        let text = read(root, &file)?;
        for reference in REFERENCES {
            for (start, _) in text.match_indices(reference) {
                let rest = &text[start + reference.len()..];
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !"._-".contains(c));
                let tag = &rest[..end.unwrap_or(rest.len())];
                // A template of Helm, whose tag is the version of the chart.
                if !tag.is_empty() {
                    found.push((file.clone(), reference.trim_end_matches(':'), tag.to_owned()));
                }
            }
        }
    }
    Ok(found)
}

/// The paths of [`TEXTS`] and of the files in their folders.
fn texts(root: &Path) -> anyhow::Result<Vec<String>> {
    let (mut open, mut files) = (TEXTS.map(PathBuf::from).to_vec(), Vec::new());
    while let Some(path) = open.pop() {
        let full = root.join(&path);
        if full.is_dir() {
            for entry in std::fs::read_dir(&full)? {
                open.push(path.join(entry?.file_name()));
            }
        } else {
            files.push(path.to_str().context("a path in UTF-8")?.to_owned());
        }
    }
    files.sort();
    ensure!(!files.is_empty(), "expected files in {}", root.display());
    Ok(files)
}

fn read(root: &Path, file: &str) -> anyhow::Result<String> {
    std::fs::read_to_string(root.join(file)).with_context(|| file.to_owned())
}

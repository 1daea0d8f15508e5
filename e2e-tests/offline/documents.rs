//! The documents refer to things that exist.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use crate::world::document::text;
use crate::world::repository::root;

const REPOSITORY: &str = "https://github.com/claim-rollout/claim-rollout";
/// The longest README: a reader decides in two minutes.
const README_LINES: usize = 150;
/// The most pages in docs/, without SUMMARY.md. What proves something or is for contributors is in docs/dev/.
const USERS_PAGES: usize = 22;

/// The pages in docs/, docs/dev/ and the other documents.
pub(super) fn documents() -> anyhow::Result<Vec<PathBuf>> {
    let files = [
        "README.md",
        "CONTRIBUTING.md",
        "SECURITY.md",
        "policy-readme.md",
        "CHANGELOG.md",
        "examples/README.md",
    ];
    let mut all: Vec<PathBuf> = files.map(|file| root().join(file)).into();
    all.extend(pages()?.into_iter().map(|page| root().join("docs").join(page)));
    Ok(all)
}

/// The pages in docs/ for users, then those in docs/dev/ for contributors: their paths in docs/.
fn pages() -> anyhow::Result<BTreeSet<String>> {
    let mut pages = BTreeSet::new();
    for folder in ["", "dev/"] {
        for entry in std::fs::read_dir(root().join("docs").join(folder))? {
            let name = entry?.file_name();
            let name = name.to_str().context("a name in UTF-8")?;
            if name.ends_with(".md") {
                pages.insert(format!("{folder}{name}"));
            }
        }
    }
    Ok(pages)
}

/// The text without blocks of code.
fn prose(text: &str) -> String {
    let outside = text.split("\n```").step_by(2);
    outside.collect::<Vec<_>>().join("\n")
}

/// The targets of `[text](target)`.
fn links(text: &str) -> Vec<String> {
    let targets = prose(text);
    let targets = targets.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.map(str::to_owned).collect()
}

/// The anchors of the headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let text = prose(text);
    let headings = text.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| -> String {
        let heading = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = heading
            .chars()
            .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

/// The links of a document that lead nowhere, and the number of all that lead to a file or a heading.
fn broken(document: &Path) -> anyhow::Result<(Vec<String>, usize)> {
    let text = std::fs::read_to_string(document)?;
    let folder = document.parent().context("a folder")?;
    let (mut broken, mut count) = (Vec::new(), 0);
    for link in links(&text).into_iter().filter(|link| !link.starts_with("http")) {
        count += 1;
        let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
        let target = if file.is_empty() {
            document.to_owned()
        } else {
            folder.join(file)
        };
        let leads =
            target.exists() && (anchor.is_empty() || anchors(&std::fs::read_to_string(target)?).contains(anchor));
        if !leads {
            broken.push(format!("{}: {link}", document.display()));
        }
    }
    Ok((broken, count))
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() -> anyhow::Result<()> {
    let (mut wrong, mut sum) = (Vec::new(), 0);
    for document in documents()? {
        let (broken, count) = broken(&document)?;
        wrong.extend(broken);
        sum += count;
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(sum > 100, "{sum}");
    Ok(())
}

#[test]
fn broken_links_are_noticed() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let page = folder.path().join("page.md");
    let rows = [
        ("[a](page.md)", true),
        ("[a](page.md#the-first-run)", true),
        ("[a](#the-first-run)", true),
        ("[a](https://example.com/x#y)", true),
        ("```text\n[a](none.md)\n```", true),
        ("[a](none.md)", false),
        ("![a](none.svg)", false),
        ("[a](page.md#none)", false),
        ("[a](#none)", false),
        ("```text\n# none\n```\n[a](#none)", false),
    ];
    for (link, leads) in rows {
        std::fs::write(&page, format!("# Page\n\n## The `first` run!\n\n{link}\n"))?;
        assert_eq!(broken(&page)?.0.is_empty(), leads, "{link}");
    }
    Ok(())
}

/// The book has every page, once.
#[test]
fn every_page_is_in_the_summary() -> anyhow::Result<()> {
    let mut listed = links(&text("docs/SUMMARY.md")?);
    listed.retain(|link| link != "../README.md");
    let mut expected = pages()?;
    expected.remove("SUMMARY.md");
    assert_eq!(listed.len(), expected.len(), "{listed:?}");
    assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), expected);
    let users = expected.iter().filter(|page| !page.starts_with("dev/")).count();
    assert!(users <= USERS_PAGES, "{users} pages for users");
    Ok(())
}

#[test]
fn readme_is_short_and_names_the_released_files() -> anyhow::Result<()> {
    let readme = text("README.md")?;
    assert!(readme.lines().count() <= README_LINES, "{}", readme.lines().count());
    let chart = text("charts/claim-rollout/Chart.yaml")?;
    let name = chart
        .lines()
        .find_map(|line| line.strip_prefix("name: "))
        .context("a name")?;
    assert!(
        readme.contains(&format!("oci://ghcr.io/claim-rollout/charts/{name} ")),
        "{name}"
    );
    let file = format!("{REPOSITORY}/releases/latest/download/install-kubewarden.yaml");
    assert!(readme.contains(&file), "{file}");
    assert!(readme.contains("`install-builtin.yaml`"));
    Ok(())
}

fn runbook(alert: &str) -> String {
    format!("{REPOSITORY}/blob/main/docs/runbooks.md#{}", alert.to_lowercase())
}

/// Each alert leads to its section of docs/runbooks.md, and no section is for an alert that does not exist.
#[test]
fn every_alert_has_a_runbook() -> anyhow::Result<()> {
    let rules = text("charts/claim-rollout/templates/monitoring.yaml")?;
    let values = |key: &str| -> Vec<String> {
        let lines = rules.lines().map(|line| line.trim_start().trim_start_matches("- "));
        lines
            .filter_map(|line| line.strip_prefix(key).map(str::to_owned))
            .collect()
    };
    let alerts = values("alert: ");
    let expected: Vec<String> = alerts.iter().map(|alert| runbook(alert)).collect();
    assert_eq!(values("runbook_url: "), expected);
    let page = text("docs/runbooks.md")?;
    let sections: Vec<&str> = page.lines().filter_map(|line| line.strip_prefix("## ")).collect();
    assert_eq!(sections, alerts);
    Ok(())
}

/// What the program may print: all of a folder without tests, the model and comments, with multi-line strings joined.
fn sources(folder: &Path, text: &mut String) -> anyhow::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with("tests") || name == "fixtures" || name == "sim" {
            continue;
        }
        if path.is_dir() {
            sources(&path, text)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            *text += &shipped(&std::fs::read_to_string(path)?);
        }
    }
    Ok(())
}

/// A source without its tests, which come last, and without comments.
fn shipped(source: &str) -> String {
    let tests = source.match_indices("\n#[cfg(test)]\nmod ").map(|(place, _)| place);
    let is_inline = |place: &usize| source[*place..].lines().nth(2).is_some_and(|line| line.ends_with('{'));
    let end = { tests }.find(is_inline).unwrap_or(source.len());
    let lines = source[..end]
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with("//"));
    lines.fold(String::new(), |text, line| match text.strip_suffix("\\\n") {
        Some(before) => format!("{before}{line}\n"),
        None => text + line + "\n",
    })
}

#[test]
fn shipped_source_has_no_comment_and_no_test() {
    let source =
        "//! Of the file.\nfn f() {\n    // Why.\n    g(\"one \\\n        two\")\n}\n\n#[cfg(test)]\nmod tests {\n}\n";
    assert_eq!(shipped(source), "fn f() {\ng(\"one two\")\n}\n");
}

/// Words of Kubernetes.
const NOT_OURS: [&str; 3] = [
    "field is immutable",
    "updates to statefulset spec for fields other than",
    "failed calling webhook",
];

/// Texts that the program puts together, and the parts.
const COMPOSED: [(&str, &[&str]); 1] = [(
    "cannot patch persistentvolumeclaims",
    &[
        "cannot {what} in namespace",
        "verb: \"patch\"",
        "resource: \"persistentvolumeclaims\"",
    ],
)];

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
                let composed = COMPOSED.iter().find(|(whole, _)| *whole == part);
                let whole = [part];
                let parts = composed.map_or(&whole[..], |(_, parts)| parts);
                let is_ours = parts.iter().all(|part| program.contains(part));
                assert!(NOT_OURS.contains(&part) || is_ours, "no source contains {part:?}");
                count += 1;
            }
        }
    }
    assert!(count > 25, "{count}");
    Ok(())
}

/// The table of `make mutants` names files and folders in `src/`.
#[test]
fn every_file_in_the_table_of_mutants_exists() -> anyhow::Result<()> {
    let document = text("docs/dev/guarantees.md")?;
    let section = document.split("## What the tests notice").nth(1).context("a section")?;
    let table = section.lines().skip_while(|line| !line.starts_with('|'));
    let mut count = 0;
    for row in table.take_while(|line| line.starts_with('|')) {
        let mut folder = "";
        for name in row.split('|').nth(1).unwrap_or_default().split('`').skip(1).step_by(2) {
            let path = match name.rsplit_once('/') {
                Some((of, _)) => {
                    folder = of;
                    name.to_owned()
                }
                None => format!("{folder}/{name}"),
            };
            let file = root().join("src").join(path.trim_start_matches('/'));
            assert!(file.is_dir() || file.with_extension("rs").is_file(), "{row}: {path}");
            count += 1;
        }
    }
    assert!(count > 8, "{count}");
    Ok(())
}

/// The nightly ring runs each minor version that a folder pins.
#[test]
fn every_pinned_minor_is_in_ci_and_in_the_table() -> anyhow::Result<()> {
    let folders = std::fs::read_dir(root().join("e2e-tests/world/go/kubernetes"))?;
    let pinned = folders.map(|folder| Ok(folder?.file_name().to_string_lossy().into_owned()));
    let pinned: BTreeSet<String> = pinned.collect::<anyhow::Result<_>>()?;
    let ci: serde_json::Value = serde_saphyr::from_str(&text(".github/workflows/nightly.yml")?)?;
    let minors = ci["jobs"]["every-minor"]["strategy"]["matrix"]["k8s"].as_array();
    let minors = minors.context("a matrix")?.iter().filter_map(|minor| minor.as_str());
    let in_ci: BTreeSet<String> = minors.map(str::to_owned).collect();
    assert_eq!(pinned, in_ci, "the pinned minor versions, and those in nightly.yml");
    let versions = text("docs/versions.md")?;
    let header = versions.lines().find_map(|line| line.strip_prefix("| What you see |"));
    let columns = header.context("a table")?.split('|').map(str::trim);
    let columns: BTreeSet<String> = columns.filter(|cell| !cell.is_empty()).map(str::to_owned).collect();
    assert_eq!(
        pinned, columns,
        "the pinned minor versions, and those in docs/versions.md"
    );
    Ok(())
}

//! Each guarantee and each format is shown by a scenario of the push ring, which `docs/dev/guarantees.md` names.

use std::collections::BTreeSet;

use anyhow::Context as _;

use super::rings::is_test;
use crate::world::document::text;
use crate::world::repository::root;

/// A witness as `docs/dev/guarantees.md` names it: in this file of the push ring, and in the list of its scenarios or a test.
fn witness(name: &str) -> anyhow::Result<bool> {
    let (file, function) = name.rsplit_once("::").with_context(|| name.to_owned())?;
    let paths = [format!("cluster/{file}.rs"), format!("cluster/{file}/mod.rs")];
    let path = paths.iter().find(|path| root().join("e2e-tests").join(path).is_file());
    let source = text(&format!(
        "e2e-tests/{}",
        path.with_context(|| format!("no file {file}"))?
    ))?;
    let lines: Vec<&str> = source.lines().collect();
    let defined = lines.iter().position(|line| line.contains(&format!("fn {function}(")));
    let is_a_test = defined.is_some_and(|at| at > 0 && is_test(lines[at - 1]));
    let Some((group, module)) = file.rsplit_once('/').filter(|_| !is_a_test) else {
        return Ok(is_a_test);
    };
    let listed = text(&format!("e2e-tests/cluster/{group}/mod.rs"))?;
    Ok(defined.is_some() && listed.contains(&format!("    {module}::{function},\n")))
}

/// The rows of the tables in this text: the first cell, and the rest.
fn rows(text: &str) -> Vec<(&str, &str)> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("| "));
    rows.filter_map(|line| line.split_once(" | ")).collect()
}

/// The part of a document below this heading.
fn section<'t>(text: &'t str, heading: &str) -> anyhow::Result<&'t str> {
    let (_, rest) = text
        .split_once(heading)
        .with_context(|| format!("no section {heading}"))?;
    let level = heading.split(' ').next().unwrap_or_default();
    Ok(rest.split(&format!("\n{level} ")).next().unwrap_or_default())
}

/// The first cells of a table of witnesses, each of which is run by the push ring.
fn witnessed<'t>(section: &'t str, title: &str) -> anyhow::Result<BTreeSet<&'t str>> {
    let mut found = BTreeSet::new();
    for (name, witnesses) in rows(section) {
        if name == title {
            continue;
        }
        let names: Vec<&str> = witnesses.split('`').filter(|name| name.contains("::")).collect();
        assert!(!names.is_empty(), "{name} has no witness");
        for one in names {
            assert!(witness(one)?, "{name}: the push ring does not run {one}");
        }
        found.insert(name);
    }
    Ok(found)
}

#[test]
fn every_guarantee_has_a_witness_in_the_push_ring() -> anyhow::Result<()> {
    let guarantees = text("docs/dev/guarantees.md")?;
    let is_number = |name: &&str| {
        let number = name.strip_prefix(['S', 'L']);
        number.is_some_and(|number| number.parse::<u8>().is_ok())
    };
    let promised = rows(section(&guarantees, "## The guarantees")?)
        .into_iter()
        .map(|(name, _)| name);
    let promised: BTreeSet<&str> = promised.filter(is_number).collect();
    let section = section(&guarantees, "### Guarantees and their witnesses")?;
    let mut found = witnessed(section, "guarantee")?;
    let simulated = ["S5", "S21"];
    assert!(simulated.iter().all(|name| section.contains(name)), "{section}");
    found.extend(simulated);
    // The policy alone: docs/dev/guarantees.md explains them below the table.
    assert!(found.remove("S14 to S16"), "{found:?}");
    assert_eq!(found, promised);
    Ok(())
}

/// The formats of docs/dev/design.md: the keys of the reference, and these.
#[test]
fn every_format_has_a_witness_in_the_push_ring() -> anyhow::Result<()> {
    let reference = text("docs/reference.md")?;
    let keys = rows(&reference).into_iter().map(|(name, _)| name);
    let mut expected: BTreeSet<&str> = keys.filter(|name| name.starts_with("`claim-rollout.io/")).collect();
    assert!(expected.len() > 20, "{expected:?}");
    expected.extend([
        "the staged change",
        "ClaimRollout",
        "names of revisions",
        "`claim-rollout review`",
    ]);
    let guarantees = text("docs/dev/guarantees.md")?;
    let found = witnessed(section(&guarantees, "### Formats and their witnesses")?, "format")?;
    assert_eq!(found, expected);
    Ok(())
}

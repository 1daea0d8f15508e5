//! The table of Kubernetes' own tests in the documentation.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};

use crate::document::text;

/// The document.
pub(super) const FILE: &str = "docs/versions.md";
/// The cell of a test that passes, with and without claim-rollout. All others contain the reason why it is left out.
pub(super) const PASSES: &str = "passes";
/// The cell of a test that this version of Kubernetes does not have.
const ABSENT: &str = "not there";

/// The tests of a minor version, with their cells.
pub(super) fn recorded(minor: &str) -> anyhow::Result<BTreeMap<String, String>> {
    let text = text(FILE)?;
    let table = text.find("| Kubernetes' test |").context("the table")?;
    let mut rows = text[table..].lines().take_while(|line| line.starts_with('|'));
    let column = cells(rows.next().context("a header")?).position(|cell| cell == minor);
    let column = column.with_context(|| format!("{FILE} has no column for {minor}"))?;
    let mut specs = BTreeMap::new();
    for row in rows.skip(1) {
        let cells: Vec<_> = cells(row).collect();
        let cell = *cells.get(column).with_context(|| format!("{FILE}: {row}"))?;
        if cell != ABSENT {
            let before = specs.insert(cells[0].to_owned(), cell.to_owned());
            ensure!(before.is_none(), "{FILE} has it twice: {row}");
        }
    }
    Ok(specs)
}

/// The cells of a row of a table.
fn cells(row: &str) -> impl Iterator<Item = &str> {
    row.trim().trim_matches('|').split('|').map(str::trim)
}

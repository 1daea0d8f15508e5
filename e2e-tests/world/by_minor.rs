//! Tables of the documentation with a column for each minor version.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};

use crate::world::document::text;

/// What differs between minor versions.
pub(crate) const VERSIONS: &str = "docs/versions.md";
/// Kubernetes' own tests.
pub(crate) const TESTS: &str = "docs/dev/kubernetes-tests.md";

/// The first cells of the rows of a table, each with its cell for this minor version. The header of the table begins
/// with this cell.
pub(crate) fn column(file: &str, header: &str, minor: &str) -> anyhow::Result<BTreeMap<String, String>> {
    let text = text(file)?;
    let table = text.find(&format!("| {header} |")).context("the table")?;
    let mut rows = text[table..].lines().take_while(|line| line.starts_with('|'));
    let column = cells(rows.next().context("a header")?).position(|cell| cell == minor);
    let column = column.with_context(|| format!("{file} has no column for {minor}"))?;
    let mut found = BTreeMap::new();
    for row in rows.skip(1) {
        let cells: Vec<_> = cells(row).collect();
        let cell = *cells.get(column).with_context(|| format!("{file}: {row}"))?;
        let before = found.insert(cells[0].to_owned(), cell.to_owned());
        ensure!(before.is_none(), "{file} has it twice: {row}");
    }
    Ok(found)
}

/// The cells of a row of a table.
fn cells(row: &str) -> impl Iterator<Item = &str> {
    row.trim().trim_matches('|').split('|').map(str::trim)
}

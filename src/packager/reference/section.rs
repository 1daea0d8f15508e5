//! A section of the page.

use std::fmt::Write as _;

/// A section with one table.
pub(super) fn section(
    heading: &str,
    text: &str,
    columns: &[&str],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    let mut section = format!("## {heading}\n\n");
    if !text.is_empty() {
        let _ = writeln!(section, "{text}\n");
    }
    section += &line(columns);
    section += &format!("|{}\n", "---|".repeat(columns.len()));
    for row in rows {
        section += &line(&row);
    }
    section
}

fn line(cells: &[impl AsRef<str>]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| cell.as_ref().replace('|', "\\|")).collect();
    format!("| {} |\n", cells.join(" | ")).replace("|  |", "| |")
}

pub(super) fn code(text: &str) -> String {
    format!("`{text}`")
}

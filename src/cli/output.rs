//! What goes to the standard output: formats and tables as kubectl has them.

use std::io::{IsTerminal as _, Write as _, stdout};

use anyhow::Context as _;
use clap::ValueEnum;
use serde::Serialize;

use crate::templates::show::printable;

/// The formats beside the usual one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// More columns, nothing cut off.
    Wide,
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

/// The document as JSON.
pub(crate) fn json(document: &impl Serialize) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(document).context("expected JSON")? + "\n")
}

/// The document as YAML.
pub(crate) fn yaml(document: &impl Serialize) -> anyhow::Result<String> {
    serde_saphyr::to_string(document).context("expected YAML")
}

/// Prints; a reader who closed the pipe has seen enough.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    match stdout().write_all(text.as_bytes()).and_then(|()| stdout().flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error).context("standard output"),
        _ => Ok(()),
    }
}

/// True iff the standard output is a terminal of somebody who has nothing against colours.
pub(crate) fn is_coloured() -> bool {
    stdout().is_terminal() && allows_colours()
}

/// True iff the user has nothing against colours (<https://no-color.org>).
pub(crate) fn allows_colours() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// A table as kubectl prints it: three spaces between columns, as wide as what is in them, nothing at the end of a line.
pub(crate) fn table(headings: &[&str], rows: &[Vec<String>]) -> String {
    let heading: Vec<String> = headings.iter().map(|text| (*text).to_owned()).collect();
    let rows: Vec<Vec<String>> = std::iter::once(&heading)
        .chain(rows)
        .map(|row| row.iter().map(|cell| printable(cell)).collect())
        .collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..heading.len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("   ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::table;

    #[test]
    fn columns_are_as_wide_as_what_is_in_them() {
        let rows = [["é", "1Gi -> 2Gi", ""], ["data-web-10", "-", "a\nb"]].map(|row| row.map(str::to_owned).to_vec());
        let expected = "\
CLAIM         STORAGE      NOTE
é             1Gi -> 2Gi
data-web-10   -            a\\u{a}b
";
        assert_eq!(table(&["CLAIM", "STORAGE", "NOTE"], &rows), expected);
    }
}

//! Output formats and tables, as in kubectl.

use std::io::{IsTerminal as _, Write as _, stderr, stdout};

use anyhow::Context as _;
use clap::ValueEnum;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::json;

use crate::templates::show::printable;

/// The output formats other than text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputFormat {
    /// More columns, and full values
    Wide,
    /// JSON
    Json,
    /// YAML
    Yaml,
    /// Kind and name only
    Name,
}

impl OutputFormat {
    /// The formats of commands that print a table.
    pub(crate) const OF_TABLES: &[Self] = &[Self::Wide, Self::Json, Self::Yaml];
}

/// Reads one of these formats.
pub(crate) fn one_of(formats: &[OutputFormat]) -> impl TypedValueParser<Value = OutputFormat> {
    let values = formats.iter().filter_map(OutputFormat::to_possible_value);
    PossibleValuesParser::new(values).try_map(|text| OutputFormat::from_str(&text, false))
}

/// The items as a list of this kind, which is the stable format of `-o json` and `-o yaml`, or as the text that `shown`
/// makes for the format.
pub(crate) fn list(
    format: Option<OutputFormat>,
    kind: &str,
    items: &impl Serialize,
    shown: impl FnOnce() -> String,
) -> anyhow::Result<String> {
    let list = json!({"apiVersion": "cli.claim-rollout.io/v1alpha1", "kind": kind, "items": items});
    Ok(data(format, &list)?.unwrap_or_else(shown))
}

/// The document as JSON or YAML; none in a format for people.
pub(crate) fn data(format: Option<OutputFormat>, document: &impl Serialize) -> anyhow::Result<Option<String>> {
    Ok(match format {
        Some(OutputFormat::Json) => {
            let text = serde_json::to_string_pretty(document).context("failed to write JSON")?;
            Some(text + "\n")
        }
        Some(OutputFormat::Yaml) => Some(yaml(document)?),
        None | Some(OutputFormat::Wide | OutputFormat::Name) => None,
    })
}

/// The document as YAML.
pub(crate) fn yaml(document: &impl Serialize) -> anyhow::Result<String> {
    serde_saphyr::to_string(document).context("failed to write YAML")
}

/// Prints to standard output; a closed pipe is no error.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    match stdout().write_all(text.as_bytes()).and_then(|()| stdout().flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(error).context("failed to write to standard output")
        }
        _ => Ok(()),
    }
}

/// Prints a line to standard error. A closed pipe or a full disk does not change what the command does: `eprintln!` would
/// end it.
pub(crate) fn note(line: &str) {
    stderr().write_all(format!("{line}\n").as_bytes()).ok();
}

/// True iff standard output is a terminal and colours are allowed.
pub(crate) fn is_coloured() -> bool {
    stdout().is_terminal() && allows_colours()
}

/// True iff the user has not disabled colours (<https://no-color.org>).
pub(crate) fn allows_colours() -> bool {
    std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// The current time. Commands read it once and pass it on.
#[allow(clippy::disallowed_methods, reason = "this is the outermost loop")]
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

/// The age of something, as kubectl prints it (`HumanDuration` of k8s.io/apimachinery).
pub(crate) fn age(since: Timestamp, now: Timestamp) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    const YEAR: i64 = 365 * DAY;
    let seconds = now.as_second().saturating_sub(since.as_second()).max(0);
    let two = |large: i64, letter: char, small: i64, other: char| match seconds % large / small {
        0 => format!("{}{letter}", seconds / large),
        rest => format!("{}{letter}{rest}{other}", seconds / large),
    };
    match seconds {
        0..120 => format!("{seconds}s"),
        120..600 => two(MINUTE, 'm', 1, 's'),
        600..10_800 => format!("{}m", seconds / MINUTE),
        10_800..28_800 => two(HOUR, 'h', MINUTE, 'm'),
        28_800..172_800 => format!("{}h", seconds / HOUR),
        172_800..691_200 => two(DAY, 'd', HOUR, 'h'),
        691_200..63_072_000 => format!("{}d", seconds / DAY),
        63_072_000..252_288_000 => two(YEAR, 'y', DAY, 'd'),
        _ => format!("{}y", seconds / YEAR),
    }
}

/// A table as kubectl prints it: columns as wide as their cells, three spaces between them, no trailing spaces.
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
    use jiff::Timestamp;

    use super::{age, table};

    #[test]
    fn age_matches_kubectl() {
        for (seconds, expected) in [
            (-5, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_860, "3h1m"),
            (172_799, "47h"),
            (176_400, "2d1h"),
            (691_200, "8d"),
            (63_072_000, "2y"),
            (63_244_800, "2y2d"),
            (252_288_000, "8y"),
        ] {
            let at = |second| Timestamp::from_second(second).expect("a time");
            assert_eq!(age(at(0), at(seconds)), expected, "{seconds}");
        }
    }

    #[test]
    fn table_columns_fit_their_cells() {
        let rows = [["é", "1Gi -> 2Gi", ""], ["data-web-10", "-", "a\nb"]].map(|row| row.map(str::to_owned).to_vec());
        let expected = "\
CLAIM         STORAGE      NOTE
é             1Gi -> 2Gi
data-web-10   -            a\\u{a}b
";
        assert_eq!(table(&["CLAIM", "STORAGE", "NOTE"], &rows), expected);
    }
}

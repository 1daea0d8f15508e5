//! `claim-rollout reference`: the page docs/reference.md, made from the code.

mod annotations;
mod fields;
mod names;

use std::fmt::Write as _;

use clap::Args;

/// Print docs/reference.md: annotations, Events, conditions, states and fields
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Arguments {}

const HEADER: &str = "\
# Reference

`make reference` writes this page from the code. PVC stands for PersistentVolumeClaim.

* [Annotations on the StatefulSet](#annotations-on-the-statefulset)
* [Other annotations, and labels](#other-annotations-and-labels)
* [Conditions](#conditions)
* [Reasons](#reasons)
* [States of a PVC](#states-of-a-pvc)
* [Events](#events)
* [Fields of ClaimRollout](#fields-of-claimrollout)

Pages of their own: [commands](commands.md), [settings](settings.md), [metrics](metrics.md),
[metrics of the webhook](webhook.md#metrics), [reasons of replacements](replacing.md#why-a-statefulset-is-not-replaced).
";

pub(crate) fn run(_: &Arguments) -> anyhow::Result<()> {
    print!("{}", page()?);
    Ok(())
}

fn page() -> anyhow::Result<String> {
    let parts = [
        HEADER.to_owned(),
        annotations::of_users(),
        annotations::of_programs(),
        names::conditions(),
        names::reasons(),
        names::states(),
        names::events(),
        fields::all()?,
    ];
    Ok(parts.join("\n"))
}

/// A section with one table.
fn section(heading: &str, text: &str, columns: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
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

fn code(text: &str) -> String {
    format!("`{text}`")
}

#[cfg(test)]
mod tests {
    use super::page;

    #[test]
    fn document_matches_the_code() {
        let document = include_str!("../../../docs/reference.md");
        assert!(
            document == page().expect("a page"),
            "docs/reference.md is outdated: run `make reference`"
        );
    }
}

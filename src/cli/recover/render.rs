//! Prints the answer.

use std::fmt::Write as _;

use serde_json::json;

use super::answer::{CureKind, RecoverRow, Recovery};
use crate::cli::output::{self, OutputFormat, table};
use crate::rollout::SetView;
use crate::templates::show::{printable, shown};

/// The text for standard output.
pub(super) fn text(recovery: &Recovery, set: &SetView, format: Option<OutputFormat>) -> anyhow::Result<String> {
    let document = || {
        let mut document = json!(recovery);
        document["apiVersion"] = json!("cli.claim-rollout.io/v1alpha1");
        document["kind"] = json!("Recovery");
        document["namespace"] = json!(set.namespace);
        document["statefulSet"] = json!(set.name);
        document
    };
    match format {
        None => Ok(lines(recovery, narrow)),
        Some(OutputFormat::Wide) => Ok(lines(recovery, wide)),
        Some(OutputFormat::Json) => output::json(&document()),
        Some(OutputFormat::Yaml) => output::yaml(&document()),
    }
}

fn lines(recovery: &Recovery, cells: fn(&RecoverRow) -> Vec<(&'static str, String)>) -> String {
    let rows: Vec<_> = recovery.claims.iter().map(cells).collect();
    let headings: Vec<&str> = rows
        .first()
        .into_iter()
        .flatten()
        .map(|(heading, _)| *heading)
        .collect();
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|row| row.into_iter().map(|(_, cell)| cell).collect())
        .collect();
    let mut text = if rows.is_empty() {
        String::new()
    } else {
        table(&headings, &rows)
    };
    text += &format!("{}\n", printable(&recovery.summary));
    let mut before = None;
    for cure in &recovery.cures {
        let or = if before == Some(CureKind::Stage) && cure.kind == CureKind::Withdraw {
            "or "
        } else {
            ""
        };
        before = Some(cure.kind);
        // Writing to a String cannot fail.
        writeln!(text, "{or}{}:", printable(&cure.text)).ok();
        for command in &cure.commands {
            writeln!(text, "  {}", printable(command)).ok();
        }
    }
    for note in &recovery.notes {
        writeln!(text, "note: {}", printable(note)).ok();
    }
    text
}

/// The cells of a claim, each with its heading.
fn narrow(row: &RecoverRow) -> Vec<(&'static str, String)> {
    let or_none = |text: &Option<String>| text.clone().unwrap_or_else(|| "<none>".to_owned());
    vec![
        ("PVC", row.claim.clone()),
        ("REQUESTED", row.requested.clone()),
        ("ALLOCATED", or_none(&row.allocated)),
        ("CAPACITY", or_none(&row.capacity)),
        ("LEAST", or_none(&row.least)),
        ("STATUS", or_none(&row.status)),
        ("GROWTH", format!("{:?}", row.growth)),
        ("NOTE", shown(&row.note)),
    ]
}

/// More cells, and full values.
fn wide(row: &RecoverRow) -> Vec<(&'static str, String)> {
    let mut cells = narrow(row);
    let class = row.storage_class.clone().unwrap_or_else(|| "<none>".to_owned());
    cells.insert(5, ("STORAGECLASS", class));
    if let Some((_, note)) = cells.last_mut() {
        note.clone_from(&row.note);
    }
    cells
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::text;
    use crate::cli::output::OutputFormat;
    use crate::cli::recover::decide::decide;
    use crate::cli::recover::decide::tests::{ROWS, failed};

    const DOCUMENT: &str = include_str!("../../../docs/commands.md");

    #[test]
    fn text_is_a_table_and_commands() {
        let inputs = failed(|_| {});
        let recovery = decide(&inputs, "claim-rollout");
        let found = text(&recovery, &inputs.set, None).expect("text");
        let expected = "\
PVC          REQUESTED   ALLOCATED   CAPACITY   LEAST    STATUS                       GROWTH       NOTE
data-web-2   1Ti         1Ti         1Gi        1025Mi   ControllerResizeInfeasible   Infeasible   more than the driver can do
data-web-1   1Gi         <none>      1Gi        <none>   <none>                       Reached
data-web-0   1Gi         <none>      1Gi        <none>   <none>                       Reached
StatefulSet web: the growth of 1 of 3 PVCs failed
stage a size that the driver can do (data at least 1025Mi and less than 1Ti); this is the smallest, and PVCs that have reached more keep it:
  kubectl patch statefulset web -n default --type=json -p '[{\"op\":\"replace\",\"path\":\"/spec/volumeClaimTemplates/0/spec/resources/requests/storage\",\"value\":\"1025Mi\"}]'
or withdraw the staged change: PVCs that have reached the larger size keep it, the others are taken back:
  claim-rollout withdraw web -n default
";
        assert_eq!(found, expected);
        assert!(DOCUMENT.contains(expected), "docs/commands.md shows something else");
        let wide = text(&recovery, &inputs.set, Some(OutputFormat::Wide)).expect("text");
        assert!(wide.contains("STORAGECLASS"), "{wide}");
    }

    #[test]
    fn text_as_data_has_the_same_cures() {
        let mut kinds = 0;
        for (row, change, ..) in ROWS {
            let inputs = failed(change);
            let recovery = decide(&inputs, "claim-rollout");
            let json = text(&recovery, &inputs.set, Some(OutputFormat::Json)).expect("text");
            let json: Value = serde_json::from_str(&json).expect("JSON");
            let yaml = text(&recovery, &inputs.set, Some(OutputFormat::Yaml)).expect("text");
            assert_eq!(json["kind"], "Recovery", "{row}");
            for (index, cure) in recovery.cures.iter().enumerate() {
                kinds += 1;
                assert_eq!(json["cures"][index]["kind"], format!("{:?}", cure.kind), "{row}");
                assert!(yaml.contains(&format!("kind: {:?}", cure.kind)), "{row}: {yaml}");
            }
        }
        assert!(kinds > 8, "{kinds}");
    }
}

//! The files beside the values of the chart: its README, and the schema of the values.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Context as _, ensure};
use serde_json::Value;

use crate::world::document::text;
use crate::world::repository::root;

/// Maps in the schema that values.yaml leaves empty, or shows a part of.
const FREE: [&str; 2] = ["policy.settings", "webhook.certManager.issuerRef"];

#[test]
fn chart_readme_has_each_value_with_its_comment() -> anyhow::Result<()> {
    let output = Command::new(root().join("hack/chart-docs")).arg("--check").output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let readme = text("charts/claim-rollout/README.md")?;
    let rows = readme.lines().filter(|line| line.starts_with("| `")).count();
    ensure!(rows > 80, "{rows}");
    Ok(())
}

/// The paths of all values below this one. A map without entries, a list or a scalar is a value.
fn values(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value.as_object() {
        Some(fields) if !fields.is_empty() && !FREE.contains(&path) => {
            for (key, value) in fields {
                values(value, &format!("{path}.{key}"), found);
            }
        }
        _ => drop(found.insert(path.to_owned())),
    }
}

/// The paths that the schema describes.
fn described(schema: &Value, path: &str, found: &mut BTreeSet<String>) {
    match schema["properties"].as_object() {
        Some(fields) if !FREE.contains(&path) => {
            for (key, schema) in fields {
                described(schema, &format!("{path}.{key}"), found);
            }
        }
        _ => drop(found.insert(path.to_owned())),
    }
}

#[test]
fn schema_describes_each_value_and_no_other() -> anyhow::Result<()> {
    let default: Value = serde_saphyr::from_str(&text("charts/claim-rollout/values.yaml")?)?;
    let schema: Value = serde_json::from_str(&text("charts/claim-rollout/values.schema.json")?)?;
    let (mut found, mut described_values) = (BTreeSet::new(), BTreeSet::new());
    let fields = default.as_object().context("values")?;
    for (key, value) in fields {
        values(value, key, &mut found);
    }
    for (key, schema) in schema["properties"].as_object().context("properties")? {
        described(schema, key, &mut described_values);
    }
    // A map of any keys, such as a selector, is described as a whole.
    let is_described = |value: &&String| {
        let covers = |described: &String| *described == **value || value.starts_with(&format!("{described}."));
        !described_values.iter().any(covers)
    };
    assert_eq!(
        found.iter().filter(is_described).collect::<Vec<_>>(),
        Vec::<&String>::new()
    );
    let is_there = |path: &&String| {
        let covers = |value: &String| value == *path || value.starts_with(&format!("{path}."));
        !found.iter().any(covers)
    };
    assert_eq!(
        described_values.iter().filter(is_there).collect::<Vec<_>>(),
        Vec::<&String>::new()
    );
    Ok(())
}

/// A dashboard that shows a metric which does not exist is empty.
#[test]
fn dashboard_panels_are_explained_and_apart() -> anyhow::Result<()> {
    let dashboard: Value = serde_json::from_str(&text("charts/claim-rollout/files/dashboard.json")?)?;
    let (mut ids, mut cells) = (BTreeSet::new(), BTreeSet::new());
    for panel in dashboard["panels"].as_array().context("panels")? {
        let title = panel["title"].as_str().context("a title")?;
        ensure!(
            panel["description"].as_str().is_some_and(|text| text.ends_with('.')),
            "{title}"
        );
        ensure!(
            ids.insert(panel["id"].as_u64()),
            "{title}: the identity of another panel"
        );
        let place = |key: &str| panel["gridPos"][key].as_u64().context("a number");
        let (x, y, width, height) = (place("x")?, place("y")?, place("w")?, place("h")?);
        ensure!(x + width <= 24, "{title}: wider than the dashboard");
        for cell in (y..y + height).flat_map(|row| (x..x + width).map(move |column| (row, column))) {
            ensure!(cells.insert(cell), "{title}: over another panel");
        }
    }
    Ok(())
}

/// The names of our metrics in a text.
fn metrics(text: &str) -> BTreeSet<&str> {
    let words = text.split(|character: char| !character.is_ascii_alphanumeric() && character != '_');
    words.filter(|word| word.starts_with("claim_rollout_")).collect()
}

/// A panel or an alert with a metric that nobody serves never shows anything.
#[test]
fn dashboard_and_alerts_use_documented_metrics() -> anyhow::Result<()> {
    let mut pages = String::new();
    for page in std::fs::read_dir(root().join("docs"))? {
        let page = page?.path();
        if page.extension().is_some_and(|extension| extension == "md") {
            pages += &std::fs::read_to_string(page)?;
        }
    }
    let documented = metrics(&pages);
    let dashboard = text("charts/claim-rollout/files/dashboard.json")?;
    for used in [&dashboard, &text("charts/claim-rollout/templates/monitoring.yaml")?] {
        for metric in metrics(used) {
            let family = metric.trim_end_matches("_bucket");
            ensure!(documented.contains(family), "{metric}");
        }
    }
    for part in ["claim_rollout_webhook_reviews_total", "claim_rollout_replacing"] {
        ensure!(metrics(&dashboard).contains(part), "{part} is on no panel");
    }
    Ok(())
}

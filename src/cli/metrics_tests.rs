//! `docs/metrics.md` and `docs/webhook.md` list every metric.

use std::collections::BTreeSet;

use crate::controller::ControllerMetrics;
use crate::webhook::WebhookMetrics;

/// The rows of the table: name, type, labels, help text.
fn rows(text: &str) -> Vec<String> {
    let described = text
        .lines()
        .filter_map(|line| line.strip_prefix("# HELP ")?.split_once(' '));
    let rows = described.map(|(name, help)| {
        let kind = text
            .lines()
            .find_map(|line| line.strip_prefix(&format!("# TYPE {name} ")));
        let kind = kind.unwrap();
        let suffix = if kind == "counter" { "_total" } else { "" };
        let samples = text.lines().filter_map(|line| line.strip_prefix(name)?.split_once('{'));
        let labels = samples.filter_map(|(_, labels)| labels.split_once('=').map(|(label, _)| label));
        let labels: BTreeSet<&str> = labels.filter(|label| *label != "le").collect();
        let labels = labels.into_iter().collect::<Vec<_>>().join(", ");
        let help = help.trim_end_matches('.');
        format!("| `{name}{suffix}` | {kind} | {labels} | {help} |")
    });
    rows.collect()
}

#[test]
fn documentation_lists_every_metric() {
    let (controller, webhook) = (ControllerMetrics::default().text(), WebhookMetrics::default().text());
    for (page, document, text) in [
        ("docs/metrics.md", include_str!("../../docs/metrics.md"), controller),
        ("docs/webhook.md", include_str!("../../docs/webhook.md"), webhook),
    ] {
        let expected = rows(&text.unwrap());
        let found = document.lines().filter(|line| line.starts_with("| `claim_rollout_"));
        let found: Vec<&str> = found.collect();
        assert_eq!(found, expected, "expected in {page}:\n{}", expected.join("\n"));
    }
}

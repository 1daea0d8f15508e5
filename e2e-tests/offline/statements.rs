//! What the documents state about other files of the repository.

use std::collections::BTreeSet;

use anyhow::Context as _;
use serde_json::Value;

use super::documents::documents;
use crate::world::document::text;
use crate::world::repository::root;

/// Rows of tables that no table contains: a blank line, or a missing header, shows them as text.
fn lost_rows(text: &str) -> Vec<&str> {
    let (mut lost, mut is_code, mut above): (_, _, Vec<&str>) = (Vec::new(), false, Vec::new());
    for line in text.lines().chain([""]) {
        is_code ^= line.trim_start().starts_with("```");
        if !is_code && line.starts_with('|') {
            above.push(line);
            continue;
        }
        let is_table = above.get(1).is_some_and(|second| second.starts_with("|---"));
        if !is_table {
            lost.append(&mut above);
        }
        above.clear();
    }
    lost
}

#[test]
fn every_row_belongs_to_a_table() -> anyhow::Result<()> {
    for document in documents()? {
        let text = std::fs::read_to_string(&document)?;
        assert_eq!(lost_rows(&text), Vec::<&str>::new(), "{}", document.display());
    }
    Ok(())
}

#[test]
fn lost_rows_are_noticed() {
    let table = "| a | b |\n|---|---|\n| 1 | 2 |";
    for (text, lost) in [
        (table.to_owned(), 0),
        (format!("{table}\n\n| 3 | 4 |\n| 5 | 6 |\n"), 2),
        (format!("{table}\ntext\n| 3 | 4 |"), 1),
        (format!("```console\n| 3 | 4 |\n```\n{table}"), 0),
    ] {
        assert_eq!(lost_rows(&text).len(), lost, "{text}");
    }
}

/// The optional manifests in `deploy/` that give rights to the controller.
fn optional_rights() -> anyhow::Result<BTreeSet<String>> {
    let mut files = BTreeSet::new();
    for entry in std::fs::read_dir(root().join("deploy"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let file = format!("deploy/{name}");
        if !name.ends_with(".yaml") || name == "kustomization.yaml" {
            continue;
        }
        let objects: Vec<Value> = serde_saphyr::from_multiple(&text(&file)?)?;
        let mut bindings = objects.iter().filter(|object| object["kind"] == "ClusterRoleBinding");
        if bindings.any(|binding| binding["subjects"][0]["name"] == "claim-rollout-controller") {
            files.insert(file);
        }
    }
    Ok(files)
}

#[test]
fn optional_rights_are_listed_and_uninstalled() -> anyhow::Result<()> {
    let files = optional_rights()?;
    assert!(files.len() > 3, "{files:?}");
    let (security, uninstall) = (text("docs/security.md")?, text("docs/uninstall.md")?);
    for file in files {
        let row = format!("\n| controller, with [{file}](../{file}) | ");
        assert!(security.contains(&row), "docs/security.md has no row: {row}");
        assert!(uninstall.contains(&format!("-f {file}`")), "docs/uninstall.md: {file}");
    }
    Ok(())
}

#[test]
fn tested_versions_are_those_that_are_pinned() -> anyhow::Result<()> {
    let mut pinned = BTreeSet::new();
    for folder in std::fs::read_dir(root().join("e2e-tests/world/go/kubernetes"))? {
        let module = std::fs::read_to_string(folder?.path().join("go.mod"))?;
        let (_, rest) = module.split_once("k8s.io/kubernetes v").context("a version")?;
        pinned.insert(rest.split_whitespace().next().context("a version")?.to_owned());
    }
    let pinned: Vec<String> = pinned.into_iter().collect();
    let (last, others) = pinned.split_last().context("versions")?;
    let sentence = format!("The tests run {} and {last}.", others.join(", "));
    assert!(text("docs/versions.md")?.contains(&sentence), "{sentence}");
    Ok(())
}

/// The alerts of the chart: expression, and how long it holds.
fn alerts() -> anyhow::Result<BTreeSet<(String, String)>> {
    let rules = text("charts/claim-rollout/templates/monitoring.yaml")?;
    let values: Value = serde_saphyr::from_str(&text("charts/claim-rollout/values.yaml")?)?;
    let stuck = values["prometheusRule"]["stuckAfterSeconds"].to_string();
    let mut found = BTreeSet::new();
    for alert in rules.split("- alert: ").skip(1) {
        let value = |key: &str| alert.lines().find_map(|line| line.trim().strip_prefix(key));
        let expression = value("expr: ").context("an expression")?;
        let expression = expression.replace("{{ .Values.prometheusRule.stuckAfterSeconds }}", &stuck);
        let expression = expression.replace("{{ include \"claim-rollout.webhooks\" $ }}", ".*claim-rollout.*");
        found.insert((expression, value("for: ").unwrap_or_default().to_owned()));
    }
    Ok(found)
}

#[test]
fn page_of_metrics_has_the_alerts_of_the_chart() -> anyhow::Result<()> {
    let page = text("docs/metrics.md")?;
    let (_, table) = page.split_once("Recommended alerts:\n\n").context("a table")?;
    let mut rows = BTreeSet::new();
    for row in table.lines().skip(2).take_while(|line| line.starts_with('|')) {
        let row = row.replace("\\|", "\u{0}");
        let cell = row.split('|').nth(2).context("a second cell")?.replace('\u{0}', "|");
        let mut parts = cell.split('`');
        let expression = parts.nth(1).context("an expression")?.to_owned();
        let rest = parts.next().unwrap_or_default();
        let minutes = rest.strip_prefix(" for ").and_then(|rest| rest.split(' ').next());
        rows.insert((
            expression,
            minutes.map_or_else(String::new, |minutes| format!("{minutes}m")),
        ));
    }
    assert_eq!(rows, alerts()?);
    Ok(())
}

/// kubectl shows the log of one Pod of a Deployment, and one of two replicas does nothing.
#[test]
fn logs_are_those_of_every_replica() -> anyhow::Result<()> {
    for document in documents()? {
        let text = std::fs::read_to_string(&document)?;
        assert!(!text.contains("logs deployment/"), "{}", document.display());
    }
    let deployment = text("deploy/controller/deployment.yaml")?;
    assert!(deployment.contains("replicas: 2"));
    let objects: Vec<Value> = serde_saphyr::from_multiple(&deployment)?;
    let mut deployments = objects.iter().filter(|object| object["kind"] == "Deployment");
    let labels = &deployments.next().context("a Deployment")?["spec"]["template"]["metadata"]["labels"];
    let label = labels["app.kubernetes.io/component"].as_str().context("a label")?;
    let command = format!("logs -l app.kubernetes.io/component={label} --prefix");
    assert!(text("docs/runbooks.md")?.contains(&command), "{command}");
    Ok(())
}

/// Names depend on the values of the chart.
#[test]
fn notes_of_the_chart_name_objects_by_template() -> anyhow::Result<()> {
    let notes = text("charts/claim-rollout/templates/NOTES.txt")?;
    let outside = notes.split("{{").map(|part| part.rsplit("}}").next().unwrap_or(part));
    let fixed = outside.collect::<String>();
    for name in ["/claim-rollout", "claim-rollout-"] {
        assert!(!fixed.contains(name), "{name}: {fixed}");
    }
    Ok(())
}

/// The form for a bug asks for what the documents list.
#[test]
fn form_has_the_commands_of_the_page() -> anyhow::Result<()> {
    let (page, form) = (
        text("docs/troubleshooting.md")?,
        text(".github/ISSUE_TEMPLATE/bug.yml")?,
    );
    let (_, section) = page.split_once("## What to report").context("no section")?;
    let commands = section.split("```").nth(1).context("no commands")?;
    let commands: Vec<&str> = commands
        .lines()
        .skip(1)
        .map(|line| line.trim_start_matches("claim-rollout "))
        .collect();
    assert!(commands.len() > 5, "{commands:?}");
    for command in commands {
        assert!(form.contains(command), "{command}");
    }
    Ok(())
}

/// `0.0.0.0` is no address of a Pod in a cluster with IPv6 alone: neither probes nor API servers would reach it.
#[test]
fn processes_listen_on_ipv6_as_well() -> anyhow::Result<()> {
    let mut count = 0;
    for file in [
        "deploy/controller/deployment.yaml",
        "deploy/webhook/deployment.yaml",
        "charts/claim-rollout/templates/controller.yaml",
        "charts/claim-rollout/templates/webhook.yaml",
        "src/cli/controller.rs",
        "src/cli/webhook.rs",
    ] {
        let text = text(file)?;
        assert!(!text.contains("0.0.0.0"), "{file}");
        count += text.matches("[::]:").count();
    }
    assert_eq!(count, 8, "an address of the controller, and two of the webhook");
    Ok(())
}

/// With `retention: Deny` scale-downs fail as well while the policy does not answer.
#[test]
fn policy_that_is_removed_is_removed_whole() -> anyhow::Result<()> {
    let mut count = 0;
    for document in documents()? {
        let text = std::fs::read_to_string(&document)?;
        for line in text
            .lines()
            .filter(|line| line.contains("kubectl delete mutatingwebhookconfiguration"))
        {
            assert!(
                line.contains(",validatingwebhookconfiguration"),
                "{}: {line}",
                document.display()
            );
            count += 1;
        }
    }
    assert!(count > 1, "{count}");
    Ok(())
}

/// The rows of the table with this header, cell by cell.
fn table<'t>(text: &'t str, header: &str) -> anyhow::Result<Vec<Vec<&'t str>>> {
    let (_, rest) = text.split_once(header).with_context(|| format!("no table {header}"))?;
    let rows = rest.lines().skip(2).take_while(|line| line.starts_with('|'));
    Ok(rows
        .map(|row| row.trim_matches('|').split('|').map(str::trim).collect())
        .collect())
}

/// The nightly ring measures the table for contributors; the page for users has the same as yes and no.
#[test]
fn table_for_users_follows_from_the_measured_one() -> anyhow::Result<()> {
    let (measured, page) = (text("docs/dev/gitops.md")?, text("docs/gitops.md")?);
    let word = |is: bool| if is { "yes" } else { "no" };
    let mut expected = Vec::new();
    for row in table(&measured, "| tool | Git asks for more |")? {
        let [tool, more, after, back] = row[..] else {
            anyhow::bail!("{row:?}");
        };
        let [sees, differs, goes_back] = [more, after, back].map(|cell| cell != "in sync");
        expected.push(vec![tool, word(sees), word(!differs), word(goes_back)]);
    }
    assert!(expected.len() > 10, "{expected:?}");
    assert_eq!(table(&page, "| the tool | sees the change |")?, expected);
    Ok(())
}

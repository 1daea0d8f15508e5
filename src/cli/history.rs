//! `claim-rollout history`: the revisions of the volumeClaimTemplates of a StatefulSet.

use anyhow::Context as _;
use clap::Args;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::cluster::ClusterArguments;
use super::completion::sets;
use super::output::{self, OutputFormat, age, now, one_of, print, table};
use super::revisions::{self, HistoryEntry, RevisionHistory};

/// Show the revision history of volumeClaimTemplates
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Name of the StatefulSet
    #[arg(add = sets())]
    name: String,
    /// Show the templates of one revision, given by name or number
    #[arg(long, value_name = "REVISION")]
    revision: Option<String>,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", value_parser = one_of(OutputFormat::OF_TABLES))]
    output: Option<OutputFormat>,
}

pub(crate) async fn run(cluster: &ClusterArguments, arguments: &Arguments) -> anyhow::Result<()> {
    let (client, namespace) = cluster.connect().await?;
    let (_, history) = revisions::read(&client, &namespace, &arguments.name).await?;
    let text = match &arguments.revision {
        None => text(&history, arguments.output, now())?,
        Some(asked) => one(&history, asked, arguments.output)?,
    };
    print(&text)
}

fn text(history: &RevisionHistory, format: Option<OutputFormat>, now: Timestamp) -> anyhow::Result<String> {
    let items = history.entries.iter().zip(history.changes());
    let items: Vec<Value> = items.map(|(entry, changes)| item(entry, &changes)).collect();
    output::list(format, "HistoryList", &items, || rows(history, format, now))
}

fn rows(history: &RevisionHistory, format: Option<OutputFormat>, now: Timestamp) -> String {
    let mut headings = vec!["REVISION", "NUMBER", "AGE", "BY", "MANAGER", "PHASE", "CHANGE"];
    let wide = format == Some(OutputFormat::Wide);
    if wide {
        headings.insert(3, "CREATED");
    }
    let rows = history.entries.iter().zip(history.changes()).map(|(entry, changes)| {
        let or_none = |text: &str| if text.is_empty() { "<none>" } else { text }.to_owned();
        let created = entry.created.as_deref().unwrap_or_default();
        let mut row = vec![
            entry.revision.to_string(),
            or_none(&entry.number.map(|number| number.to_string()).unwrap_or_default()),
            or_none(&created.parse().map(|created| age(created, now)).unwrap_or_default()),
            or_none(&entry.by),
            or_none(&entry.manager),
            or_none(&phase(entry)),
            or_none(&changes.join(", ")),
        ];
        if wide {
            row.insert(3, or_none(created));
        }
        row
    });
    table(&headings, &rows.collect::<Vec<_>>())
}

/// The phase of the staged revision, `Live` for the live templates, and `Current` if outdated claims have the revision.
fn phase(entry: &HistoryEntry) -> String {
    let live = entry.is_live.then_some("Live");
    let current = entry.current.then_some("Current");
    let phase = entry.phase.map(|phase| phase.as_str());
    let words: Vec<&str> = live.into_iter().chain(phase).chain(current).collect();
    words.join(", ")
}

fn item(entry: &HistoryEntry, changes: &[String]) -> Value {
    json!({
        "revision": entry.revision.as_str(),
        "number": entry.number,
        "created": entry.created,
        "by": entry.by,
        "manager": entry.manager,
        "phase": entry.phase,
        "live": entry.is_live,
        "current": entry.current,
        "changes": changes,
        "templates": entry.templates(),
    })
}

/// One revision with its templates.
fn one(history: &RevisionHistory, asked: &str, format: Option<OutputFormat>) -> anyhow::Result<String> {
    let at = history
        .find(asked)
        .and_then(|found| history.entries.iter().position(|entry| entry == found));
    let at = at.with_context(|| unknown(history, asked))?;
    let entry = &history.entries[at];
    if let Some(data) = output::data(format, &item(entry, &history.changes()[at]))? {
        return Ok(data);
    }
    let set = format!("statefulset.apps/{} with revision {}", history.set.name, entry.revision);
    let templates = output::yaml(&json!({"volumeClaimTemplates": entry.templates()}))?;
    Ok(format!("{set}\n{templates}"))
}

/// The error for an unknown revision.
pub(crate) fn unknown(history: &RevisionHistory, asked: &str) -> String {
    let known: Vec<&str> = history.entries.iter().map(|entry| entry.revision.as_str()).collect();
    format!("expected one of the revisions {}, but found {asked}", known.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{one, text};
    use crate::cli::json_tests::is_as_described;
    use crate::cli::output::OutputFormat;
    use crate::cli::revisions::tests::{history, revision, stored};

    const NOW: &str = "2026-01-01T00:05:00Z";

    #[test]
    fn text_latest_revision_is_the_last_row() {
        let [one, two, three] = ["1Gi", "2Gi", "3Gi"].map(revision);
        let mut history = history(Some("3Gi"), &[stored(1, "2Gi"), stored(2, "3Gi")]);
        history.entries[1].current = true;
        let expected = format!(
            "\
REVISION     NUMBER   AGE      BY       MANAGER   PHASE        CHANGE
{one}   0        <none>   <none>   <none>    Live         data 1Gi
{two}   1        5m       bob      kubectl   Current      data 1Gi -> 2Gi
{three}   2        5m       alice    helm      RollingOut   data 2Gi -> 3Gi
"
        );
        let now = NOW.parse().expect("a time");
        assert_eq!(text(&history, None, now).expect("text"), expected);
        let wide = text(&history, Some(OutputFormat::Wide), now).expect("text");
        assert!(wide.contains("5m       2026-01-01T00:00:00Z   bob"), "{wide}");
        let json = text(&history, Some(OutputFormat::Json), now).expect("text");
        is_as_described(std::slice::from_ref(&json));
        let json: Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(json["items"][2]["revision"], three);
        assert_eq!(json["items"][0]["live"], true);
    }

    #[test]
    fn one_shows_a_revision_with_its_templates() {
        let history = history(None, &[stored(1, "2Gi")]);
        let text = one(&history, "1", None).expect("text");
        let expected = format!(
            "statefulset.apps/web with revision {}\nvolumeClaimTemplates:\n",
            revision("2Gi")
        );
        assert!(text.starts_with(&expected) && text.contains("storage: 2Gi"), "{text}");
        let error = one(&history, "7", None).expect_err("no such revision").to_string();
        let [first, second] = ["1Gi", "2Gi"].map(revision);
        assert_eq!(
            error,
            format!("expected one of the revisions {first}, {second}, but found 7")
        );
    }
}

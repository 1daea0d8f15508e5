//! Renders differences as text.

use serde_json::{Value, json};

use super::difference::Drift;
use super::find::DriftSet;
use crate::cli::output::{self, OutputFormat, table};
use crate::templates::show::shown;

/// The text for standard output: a table, empty without differences. JSON and YAML are complete documents even then.
pub(super) fn text(found: &[(&DriftSet, Vec<Drift>)], format: Option<OutputFormat>) -> anyhow::Result<String> {
    let document =
        || json!({"apiVersion": "cli.claim-rollout.io/v1alpha1", "kind": "DriftList", "items": items(found)});
    match format {
        None => Ok(rows(found, shown)),
        Some(OutputFormat::Wide) => Ok(rows(found, str::to_owned)),
        Some(OutputFormat::Json) => output::json(&document()),
        Some(OutputFormat::Yaml) => output::yaml(&document()),
    }
}

/// The summary in one line.
pub(super) fn summary(found: &[(&DriftSet, Vec<Drift>)]) -> String {
    let differing = found.iter().filter(|(_, differences)| !differences.is_empty()).count();
    let sets = if found.len() == 1 {
        "StatefulSet"
    } else {
        "StatefulSets"
    };
    match differing {
        0 => format!("compared {} {sets}: nothing differs", found.len()),
        _ => format!("compared {} {sets}: {differing} with differences", found.len()),
    }
}

fn rows(found: &[(&DriftSet, Vec<Drift>)], value: fn(&str) -> String) -> String {
    let headings = ["NAMESPACE", "STATEFULSET", "PVC", "FIELD", "WANTED", "FOUND", "NOTE"];
    let or_none =
        |text: &Option<String>, value: fn(&str) -> String| text.as_deref().map_or_else(|| "<none>".to_owned(), value);
    let rows: Vec<Vec<String>> = found
        .iter()
        .flat_map(|(seen, differences)| {
            differences.iter().map(|difference| {
                vec![
                    seen.set.namespace.clone(),
                    seen.set.name.clone(),
                    // A name that is cut could be that of another PVC.
                    or_none(&difference.claim, str::to_owned),
                    difference.field.clone(),
                    or_none(&difference.wanted, value),
                    or_none(&difference.found, value),
                    difference.note.clone(),
                ]
            })
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    table(&headings, &rows)
}

fn items(found: &[(&DriftSet, Vec<Drift>)]) -> Vec<Value> {
    let of_set = |(seen, differences): &(&DriftSet, Vec<Drift>)| {
        let items = differences.iter().map(|difference| {
            let mut item = json!(difference);
            item["namespace"] = json!(seen.set.namespace);
            item["statefulSet"] = json!(seen.set.name);
            item
        });
        items.collect::<Vec<_>>()
    };
    found.iter().flat_map(of_set).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{summary, text};
    use crate::cli::drift::find::find;
    use crate::cli::drift::find::tests::{changed, even};
    use crate::cli::output::OutputFormat;

    #[test]
    fn text_difference_is_a_row_and_an_item() {
        let seen = changed(|seen| {
            seen.claims.remove("data-web-1");
        });
        let found = [(&seen, find(&seen))];
        let expected = "\
NAMESPACE   STATEFULSET   PVC          FIELD           WANTED       FOUND    NOTE
default     web           data-web-1   metadata.name   data-web-1   <none>   created with the Pod
";
        assert_eq!(text(&found, None).expect("text"), expected);
        assert_eq!(summary(&found), "compared 1 StatefulSet: 1 with differences");
        let json: Value = serde_json::from_str(&text(&found, Some(OutputFormat::Json)).expect("text")).expect("JSON");
        assert_eq!(json["items"][0]["statefulSet"], "web");
        assert_eq!(json["items"][0]["kind"], "Missing");
        assert_eq!(json["items"][0]["found"], Value::Null);
    }

    #[test]
    fn text_has_whole_names_of_pvcs() {
        let seen = changed(|seen| {
            seen.claims.remove("data-web-1");
        });
        let name = format!("vmstorage-volume-{}-1", "x".repeat(60));
        let mut found = find(&seen);
        found[0].claim = Some(name.clone());
        assert!(text(&[(&seen, found)], None).expect("text").contains(&name));
    }

    #[test]
    fn text_without_differences_is_empty() {
        let seen = even();
        let found = [(&seen, find(&seen))];
        assert_eq!(text(&found, None).expect("text"), "");
        assert_eq!(text(&found, Some(OutputFormat::Wide)).expect("text"), "");
        let yaml = text(&found, Some(OutputFormat::Yaml)).expect("text");
        assert!(yaml.contains("items: []"), "{yaml}");
        assert_eq!(summary(&found), "compared 1 StatefulSet: nothing differs");
    }

    #[test]
    fn text_long_values_are_cut_unless_wide() {
        let long = "x".repeat(100);
        let seen = changed(|seen| {
            let claim = seen.claims.get_mut("data-web-1").expect("a claim");
            claim.view.labels.insert("app".to_owned(), long.clone());
        });
        let found = [(&seen, find(&seen))];
        assert!(!text(&found, None).expect("text").contains(&long));
        assert!(text(&found, Some(OutputFormat::Wide)).expect("text").contains(&long));
    }
}

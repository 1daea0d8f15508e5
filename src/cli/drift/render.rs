//! Renders differences as text.

use serde::Serialize;

use super::find::{DriftSet, of_set, rows};
use crate::cli::output::{self, OutputFormat, table};
use crate::cli::row::{ClaimRow, FieldDifference};
use crate::templates::show::shown;

/// A set with its differences. The fields are the stable format of `drift -o json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct SetDifferences {
    namespace: String,
    name: String,
    /// Those of the set itself.
    differences: Vec<FieldDifference>,
    /// The claims that differ, highest ordinal first.
    claims: Vec<ClaimRow>,
}

impl SetDifferences {
    /// All differences of a set.
    pub(super) fn of(seen: &DriftSet) -> Self {
        let mut claims = rows(seen);
        claims.retain(|row| !row.differences.is_empty());
        Self {
            namespace: seen.set.namespace.clone(),
            name: seen.set.name.clone(),
            differences: of_set(seen),
            claims,
        }
    }

    /// True iff nothing differs.
    pub(super) fn is_even(&self) -> bool {
        self.differences.is_empty() && self.claims.is_empty()
    }

    /// All differences, each with the name of its claim.
    pub(super) fn all(&self) -> impl Iterator<Item = (Option<&ClaimRow>, &FieldDifference)> {
        let of_set = self.differences.iter().map(|difference| (None, difference));
        let of_claims = self.claims.iter();
        let of_claims = of_claims.flat_map(|row| row.differences.iter().map(move |difference| (Some(row), difference)));
        of_set.chain(of_claims)
    }
}

/// The text for standard output: a table, empty without differences. JSON and YAML are complete documents even then.
pub(super) fn text(found: &[SetDifferences], format: Option<OutputFormat>) -> anyhow::Result<String> {
    let items: Vec<&SetDifferences> = found.iter().filter(|found| !found.is_even()).collect();
    let value: fn(&str) -> String = match format {
        Some(OutputFormat::Wide) => str::to_owned,
        _ => shown,
    };
    output::list(format, "DriftList", &items, || lines(found, value))
}

/// The summary in one line.
pub(super) fn summary(found: &[SetDifferences]) -> String {
    let differing = found.iter().filter(|found| !found.is_even()).count();
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

fn lines(found: &[SetDifferences], value: fn(&str) -> String) -> String {
    let headings = ["NAMESPACE", "STATEFULSET", "PVC", "FIELD", "WANTED", "FOUND", "NOTE"];
    let or_none = |text: &Option<String>| text.as_deref().map_or_else(|| "<none>".to_owned(), value);
    let line = |found: &SetDifferences, (claim, difference): (Option<&ClaimRow>, &FieldDifference)| {
        vec![
            found.namespace.clone(),
            found.name.clone(),
            // A name that is cut could be that of another PVC.
            claim.map_or_else(|| "<none>".to_owned(), |claim| claim.name.clone()),
            difference.field.clone(),
            or_none(&difference.wanted),
            or_none(&difference.found),
            difference.note.clone(),
        ]
    };
    let lines = found
        .iter()
        .flat_map(|found| found.all().map(move |one| line(found, one)));
    let lines: Vec<Vec<String>> = lines.collect();
    if lines.is_empty() {
        return String::new();
    }
    table(&headings, &lines)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{SetDifferences, summary, text};
    use crate::cli::drift::find::tests::{changed, even};
    use crate::cli::json_tests::is_as_described;
    use crate::cli::output::OutputFormat;
    use crate::rollout::fixtures::{staged_change, template};

    #[test]
    fn text_difference_is_a_row_and_an_item() {
        let seen = changed(|seen| {
            seen.claims.remove("data-web-1");
        });
        let found = [SetDifferences::of(&seen)];
        let expected = "\
NAMESPACE   STATEFULSET   PVC          FIELD           WANTED       FOUND    NOTE
default     web           data-web-1   metadata.name   data-web-1   <none>   created with the Pod
";
        assert_eq!(text(&found, None).expect("text"), expected);
        assert_eq!(summary(&found), "compared 1 StatefulSet: 1 with differences");
        let json: Value = serde_json::from_str(&text(&found, Some(OutputFormat::Json)).expect("text")).expect("JSON");
        let item = &json["items"][0];
        assert_eq!((&item["namespace"], &item["name"]), (&"default".into(), &"web".into()));
        let claim = &item["claims"][0];
        let names = ["template", "name", "state", "reason"].map(|key| claim[key].as_str().unwrap_or_default());
        assert_eq!(names, ["data", "data-web-1", "Missing", "NotFound"]);
        assert_eq!(claim["differences"][0]["found"], Value::Null);
    }

    #[test]
    fn json_of_differences_is_as_described() {
        let seen = changed(|seen| seen.set.staged = Some(staged_change(vec![template("data", "2Gi")])));
        let found = [SetDifferences::of(&seen)];
        is_as_described(&[text(&found, Some(OutputFormat::Json)).expect("text")]);
    }

    #[test]
    fn text_has_whole_names_of_pvcs() {
        let seen = changed(|seen| {
            seen.claims.remove("data-web-1");
        });
        let name = format!("vmstorage-volume-{}-1", "x".repeat(60));
        let mut found = SetDifferences::of(&seen);
        found.claims[0].name.clone_from(&name);
        assert!(text(&[found], None).expect("text").contains(&name));
    }

    #[test]
    fn text_without_differences_is_empty() {
        let seen = even();
        let found = [SetDifferences::of(&seen)];
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
        let found = [SetDifferences::of(&seen)];
        assert!(!text(&found, None).expect("text").contains(&long));
        assert!(text(&found, Some(OutputFormat::Wide)).expect("text").contains(&long));
    }
}

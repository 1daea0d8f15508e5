//! Cases of the table for the page `docs/ask`, whose test in a browser compares what the page shows with these answers.

use serde_json::{Value, json};

use super::case::Case;
use crate::world::document::text;
use crate::world::repository::root;

const FILE: &str = "hack/page/cases.json";
/// Staged; staged where look-ups find a PVC that cannot grow; denied for that; denied for the right, for the fields, and
/// for everything at once; created.
const EXPORTED: [(&str, &str); 7] = [
    ("U3", "a size grows, in place"),
    ("U3", "the class does not expand (Warn)"),
    ("U3", "the class does not expand (Deny)"),
    ("U3", "a user without the right is denied"),
    ("U3", "a template is renamed"),
    ("U3", "everything is wrong at once"),
    ("C1", "all that only the policy writes comes along"),
];

fn exported(case: &Case) -> Value {
    let objects = case.objects().unwrap_or_default();
    let answer = case.answer(None).expect("an answer").json;
    json!({
        "sentence": case.sentence, "settings": case.settings, "request": case.request, "objects": objects,
        "answer": answer,
    })
}

/// `CLAIM_ROLLOUT_WRITE=1` writes the file anew.
#[test]
fn exported_cases_are_those_of_the_table() -> anyhow::Result<()> {
    let all = super::cases();
    let cases = EXPORTED.map(|(row, sentence)| {
        let found: Vec<&Case> = all
            .iter()
            .filter(|case| case.row == row && case.sentence == sentence)
            .collect();
        assert_eq!(found.len(), 1, "{row}: {sentence}");
        exported(found[0])
    });
    let fresh = serde_json::to_string_pretty(&cases)? + "\n";
    if std::env::var_os("CLAIM_ROLLOUT_WRITE").is_some() {
        std::fs::write(root().join(FILE), &fresh)?;
    }
    assert!(
        text(FILE)? == fresh,
        "{FILE} differs from the table; write it with CLAIM_ROLLOUT_WRITE=1"
    );
    Ok(())
}

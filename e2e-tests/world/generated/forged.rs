//! The annotation with the staged change, forged.

use serde_json::{Value, json};

use super::choices::Choices;

/// The annotation after a user changed it: invalid, or not the one that was there.
pub(crate) fn forged(change: &str, choices: &mut dyn Choices) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(change) else {
        return change.to_owned();
    };
    match choices.below(9) {
        0 => value["uid"] = json!("another"),
        1 => {
            value["templates"] =
                json!([{"metadata": {"name": "data"}, "spec": {"resources": {"requests": {"storage": "9000Ti"}}}}]);
        }
        2 => value["revision"] = json!("bbbbbbbbbb"),
        3 => value["version"] = json!(2),
        4 => value["phase"] = json!("Complete"),
        5 => return String::new(),
        6 => return "{".to_owned(),
        // The same staged change in another spelling: valid, but not the bytes of the policy.
        7 => return serde_json::to_string_pretty(&value).unwrap_or_default(),
        _ => value["extra"] = json!(1),
    }
    value.to_string()
}

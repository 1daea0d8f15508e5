//! The chart and the code accept the same `policy.settings`.

use serde_json::{Value, json};

use crate::api::Settings;
use crate::api::settings::NAMES;

const SCHEMA: &str = include_str!("../../charts/claim-rollout/values.schema.json");

fn schema() -> Value {
    let mut values: Value = serde_json::from_str(SCHEMA).expect("JSON");
    values["properties"]["policy"]["properties"]["settings"].take()
}

/// Reads a document with this setting alone.
fn read(name: &str, value: &Value) -> Result<Settings, String> {
    Settings::read(&json!({name: value}).to_string())
}

#[test]
fn chart_accepts_every_setting_and_no_other() {
    let schema = schema();
    let properties = schema["properties"].as_object().expect("properties");
    let mut names: Vec<&str> = properties.keys().map(String::as_str).collect();
    let mut expected = NAMES.to_vec();
    names.sort_unstable();
    expected.sort_unstable();
    assert_eq!(names, expected);
    assert_eq!(schema["additionalProperties"], false);
}

#[test]
fn chart_accepts_the_values_of_the_code() {
    let schema = schema();
    for name in NAMES {
        let setting = &schema["properties"][name];
        if let Some(words) = setting["enum"].as_array() {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            // The error names all allowed values.
            let error = read(name, &json!(1)).expect_err(name);
            assert!(
                error.contains(&format!("expected one of {}, but", words.join(", "))),
                "{error}"
            );
            continue;
        }
        // Examples of each type in the schema.
        let item = setting["items"]["pattern"].as_str();
        let examples = match (setting["type"].as_str().expect(name), item) {
            ("boolean", _) => json!([true, false]),
            ("integer", _) => json!([setting["minimum"], setting["maximum"]]),
            ("object", _) => json!([{}, {"*": "1Ti"}]),
            ("array", None) => json!([["a"], ["a", "b"]]),
            ("array", Some("^[^/]+/$")) => json!([[], ["example.com/"]]),
            ("array", Some("^[^/]+/[^/]+$")) => json!([[], ["example.com/Database"]]),
            other => panic!("{name}: {other:?}"),
        };
        for example in examples.as_array().expect("a list") {
            assert!(read(name, example).is_ok(), "{name}: {example}");
        }
        for (bound, step) in [("minimum", -1), ("maximum", 1)] {
            if let Some(bound) = setting[bound].as_i64() {
                assert!(read(name, &json!(bound + step)).is_err(), "{name}: {}", bound + step);
            }
        }
        let least = setting["minItems"].as_u64().unwrap_or(0);
        let takes_none = read(name, &json!([])).is_ok();
        assert!(
            setting["type"] != "array" || takes_none == (least == 0),
            "{name}: an empty list"
        );
    }
}

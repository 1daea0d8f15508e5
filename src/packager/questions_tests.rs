//! policy-settings.yml, the schema of the chart and docs/settings.md match the settings of the code.

use serde_json::{Map, Value, json};

use crate::api::Settings;
use crate::api::settings::NAMES;

/// Each setting with its type, texts and default.
const QUESTIONS: &str = include_str!("../../policy-settings.yml");
const DOCUMENT: &str = include_str!("../../docs/settings.md");

fn questions() -> Vec<Value> {
    let mut questions: Value = serde_saphyr::from_str(QUESTIONS).expect("YAML");
    serde_json::from_value(questions["questions"].take()).expect("a list")
}

fn text<'a>(question: &'a Value, key: &str) -> &'a str {
    question[key]
        .as_str()
        .unwrap_or_else(|| panic!("expected {key} of {question}"))
}

fn options(question: &Value) -> Vec<&str> {
    let options = question["options"].as_array().into_iter().flatten();
    options.filter_map(Value::as_str).collect()
}

/// The settings as JSON text, as the policy gets them.
fn read(name: &str, value: &Value) -> Result<Settings, String> {
    Settings::read(&json!({name: value}).to_string())
}

fn sorted<T: Ord>(mut list: Vec<T>) -> Vec<T> {
    list.sort();
    list
}

#[test]
fn questions_ask_for_each_setting_once() {
    let questions = questions();
    let asked = questions.iter().map(|question| text(question, "variable")).collect();
    assert_eq!(sorted(asked), sorted(NAMES.to_vec()));
}

#[test]
fn questions_have_texts_and_are_optional() {
    for question in questions() {
        for key in ["label", "tooltip", "group", "type"] {
            assert!(!text(&question, key).is_empty(), "{key} of {question}");
        }
        assert_eq!(question["required"], false, "{question}");
        let default = &question["default"];
        let fits = match text(&question, "type") {
            "enum" => options(&question).contains(&default.as_str().unwrap_or_default()),
            "boolean" => default.is_boolean(),
            "int" => default.is_u64() && question["min"].is_u64() && question["max"].is_u64(),
            "string" => default.is_string(),
            "array[" => default.is_array() || default.is_null(),
            "map[" => default.is_object(),
            other => panic!("no type {other} is known"),
        };
        assert!(fits && question.get("default").is_some(), "{question}");
    }
}

#[test]
fn question_defaults_match_the_code() {
    let defaults: Map<String, Value> = questions()
        .iter()
        .map(|question| (text(question, "variable").to_owned(), question["default"].clone()))
        .collect();
    let read = Settings::read(&Value::Object(defaults).to_string());
    assert_eq!(read, Ok(Settings::default()));
}

#[test]
fn question_options_and_limits_match_the_code() {
    for question in questions() {
        let name = text(&question, "variable");
        match text(&question, "type") {
            "enum" => {
                for option in options(&question) {
                    assert!(read(name, &json!(option)).is_ok(), "{name}: {option}");
                }
                // The error for a value names all allowed ones.
                let error = read(name, &json!("?")).expect_err(name);
                assert!(
                    error.contains(&format!("{}, but", options(&question).join(", "))),
                    "{error}"
                );
            }
            "int" => {
                let [min, max] = ["min", "max"].map(|key| question[key].as_i64().expect(key));
                for (number, allowed) in [(min - 1, false), (min, true), (max, true), (max + 1, false)] {
                    assert_eq!(read(name, &json!(number)).is_ok(), allowed, "{name}: {number}");
                }
            }
            _ => {}
        }
    }
}

#[test]
fn document_has_a_section_for_each_setting() {
    let sections = DOCUMENT.lines().filter_map(|line| line.strip_prefix("### `"));
    let sections = sections.filter_map(|name| name.strip_suffix('`')).collect();
    assert_eq!(sorted(sections), sorted(NAMES.to_vec()));
}

const SCHEMA: &str = "charts/claim-rollout/values.schema.json";

/// The text of each item of a list must match this.
fn pattern(name: &str) -> Value {
    match name {
        "reservedKeyPrefixes" => json!({"type": "string", "pattern": "^[^/]+/$"}),
        "stageOwnedBy" => json!({"type": "string", "pattern": "^[^/]+/[^/]+$"}),
        _ => json!({"type": "string", "minLength": 1}),
    }
}

/// The type of a setting as JSON Schema.
fn schema(question: &Value) -> Value {
    let name = text(question, "variable");
    match text(question, "type") {
        "enum" => json!({"enum": question["options"]}),
        "boolean" => json!({"type": "boolean"}),
        "int" => json!({"type": "integer", "minimum": question["min"], "maximum": question["max"]}),
        "map[" => json!({"type": "object", "additionalProperties": pattern(name)}),
        "array[" if read(name, &json!([])).is_ok() => json!({"type": "array", "items": pattern(name)}),
        "array[" => json!({"type": "array", "items": pattern(name), "minItems": 1}),
        other => panic!("no schema for {other}"),
    }
}

/// `CLAIM_ROLLOUT_WRITE=1` writes the types into the file, in place of the ones there.
#[test]
fn chart_schema_has_the_type_of_each_setting() {
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(SCHEMA);
    let mut committed: Value = serde_json::from_str(&std::fs::read_to_string(&file).expect(SCHEMA)).expect(SCHEMA);
    let types: Map<String, Value> = questions()
        .iter()
        .map(|question| (text(question, "variable").to_owned(), schema(question)))
        .collect();
    let expected = json!({"type": "object", "additionalProperties": false, "properties": types});
    let settings = &mut committed["properties"]["policy"]["properties"]["settings"];
    if std::env::var_os("CLAIM_ROLLOUT_WRITE").is_some() {
        *settings = expected;
        let text = serde_json::to_string_pretty(&committed).expect("JSON");
        std::fs::write(&file, text + "\n").expect(SCHEMA);
        return;
    }
    assert_eq!(*settings, expected, "{SCHEMA} is outdated: run `make chart-docs`");
}

#[test]
fn chart_schema_patterns_match_the_code() {
    for (name, item, valid) in [
        ("reservedKeyPrefixes", "example.com/", true),
        ("reservedKeyPrefixes", "example.com", false),
        ("stageOwnedBy", "monitoring.coreos.com/Prometheus", true),
        ("stageOwnedBy", "Prometheus", false),
        ("controllerAccounts", "", false),
    ] {
        assert_eq!(read(name, &json!([item])).is_ok(), valid, "{name}: {item}");
    }
}

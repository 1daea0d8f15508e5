//! Target `wire`: any bytes as the payload of `validate` and of `validate_settings`.

use claim_rollout::admission::NoCluster;
use claim_rollout::admission::validate_settings;
use serde_json::{Value, json};

use crate::answer::Answer;

/// A value that no answer may contain. Messages do not cut its 32 characters.
const SECRET: &str = "pA55w0rd-0f-a-neighb0ur-1n-a-s3t";

/// Sends the bytes, and then the same review with secrets in it.
///
/// # Laws
/// * Every answer is JSON with a verdict.
/// * A denial has a code, and a message of one line and of limited length.
/// * The same review gets the same answer.
/// * No message contains values of other annotations, of the environment or of managed fields.
pub fn wire(data: &[u8]) {
    settings(data);
    Answer::to(data, || NoCluster);
    let Ok(mut payload) = serde_json::from_slice::<Value>(data) else {
        return;
    };
    for object in ["object", "oldObject"] {
        for (path, key) in [
            ("metadata", "annotations"),
            ("metadata", "managedFields"),
            ("spec", "template"),
            ("spec", "serviceName"),
        ] {
            plant(&mut payload, &["request", object, path, key]);
        }
    }
    plant(&mut payload, &["request", "userInfo", "extra"]);
    let Some(answer) = Answer::to(payload.to_string().as_bytes(), || NoCluster) else {
        return;
    };
    let mut shown = answer.value.clone();
    if let Some(shown) = shown.as_object_mut() {
        shown.remove("mutated_object");
    }
    assert!(
        !shown.to_string().contains(SECRET),
        "a secret in the answer: {shown} to {payload}"
    );
}

/// Adds the secret to a map or a list, and replaces nothing.
fn plant(value: &mut Value, path: &[&str]) {
    match (value, path) {
        (Value::Object(fields), [key, rest @ ..]) => plant(fields.entry(*key).or_insert(Value::Null), rest),
        (Value::Object(fields), []) => {
            fields.insert("example.com/secret".to_owned(), json!(SECRET));
        }
        (Value::Array(items), []) => items.push(json!({"secret": SECRET})),
        (empty @ Value::Null, []) => *empty = json!({"example.com/secret": SECRET}),
        _ => {}
    }
}

fn settings(data: &[u8]) {
    let answer = validate_settings(data);
    assert_eq!(answer, validate_settings(data), "two answers to one question");
    let answer: Value = serde_json::from_slice(&answer).expect("JSON");
    let valid = answer["valid"].as_bool().expect("a verdict");
    assert_eq!(valid, answer["message"].is_null(), "{answer}");
}

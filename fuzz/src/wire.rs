//! Target `wire`: any bytes as the payload of `validate` and of `validate_settings`.

use claim_rollout::admission::NoCluster;
use claim_rollout::wire::validate_settings;
use serde_json::{Value, json};

use crate::answer::Answer;

/// Stands in places that no answer shows. 32 characters, none of which a message would cut.
const SECRET: &str = "pA55w0rd-0f-a-neighb0ur-1n-a-s3t";

/// Asks about the bytes as they are, and then with a secret in them.
///
/// # Laws
/// Every answer is JSON with a verdict; a refusal has a code, and a reason of bounded length in one line; the same question
/// gets the same answer; what stands in somebody's annotations, environment or managed fields is in no message.
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
    let mut said = answer.value.clone();
    if let Some(said) = said.as_object_mut() {
        said.remove("mutated_object");
    }
    assert!(
        !said.to_string().contains(SECRET),
        "a secret is shown: {said} of {payload}"
    );
}

/// Puts the secret into a map, if there is room for it: nothing of what was there may go.
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

//! Paths at which two objects differ.

use std::collections::BTreeSet;

use serde_json::Value;

const TEMPLATES: &str = "spec.volumeClaimTemplates";

/// The paths at which two objects differ. All differences within the templates are one path, to keep the table small.
pub(super) fn differences(one: &Value, other: &Value) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    compare("", one, other, &mut all);
    all
}

fn compare(path: &str, one: &Value, other: &Value, all: &mut BTreeSet<String>) {
    match (one, other) {
        _ if one == other => {}
        _ if path == TEMPLATES => _ = all.insert(path.to_owned()),
        (Value::Object(one), Value::Object(other)) => {
            for key in one.keys().chain(other.keys()) {
                let nothing = &Value::Null;
                let (one, other) = (one.get(key).unwrap_or(nothing), other.get(key).unwrap_or(nothing));
                compare(&child(path, key), one, other, all);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            for (index, (one, other)) in one.iter().zip(other).enumerate() {
                compare(&format!("{path}[{index}]"), one, other, all);
            }
        }
        _ => _ = all.insert(path.to_owned()),
    }
}

fn child(path: &str, key: &str) -> String {
    match path {
        "" => key.to_owned(),
        _ if key.contains('.') => format!("{path}[{key}]"),
        _ => format!("{path}.{key}"),
    }
}

/// The path of a JSON pointer.
pub(super) fn at_pointer(pointer: &str) -> String {
    let keys = pointer
        .split('/')
        .skip(1)
        .map(|key| key.replace("~1", "/").replace("~0", "~"));
    let path = keys.fold(String::new(), |path, key| match key.parse::<usize>() {
        Ok(index) => format!("{path}[{index}]"),
        Err(_) => child(&path, &key),
    });
    if path.starts_with(TEMPLATES) {
        TEMPLATES.to_owned()
    } else {
        path
    }
}

/// The object without these fields.
pub(super) fn without(object: &Value, pointers: &[&str]) -> Value {
    let mut object = object.clone();
    for pointer in pointers {
        if let Some((parent, key)) = pointer.rsplit_once('/')
            && let Some(parent) = object.pointer_mut(parent).and_then(Value::as_object_mut)
        {
            parent.remove(key);
        }
    }
    object
}

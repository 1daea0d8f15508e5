//! Conversions from and to the values of serde_json, for Kubernetes clients. Not in the policy.

use super::map::Map;
use super::value::{Number, Value};

impl From<serde_json::Value> for Value {
    fn from(value: serde_json::Value) -> Self {
        use serde_json::Value as Theirs;
        match value {
            Theirs::Null => Self::Null,
            Theirs::Bool(truth) => Self::Bool(truth),
            Theirs::Number(number) => Self::Number(Number::printed(number.to_string())),
            Theirs::String(text) => Self::String(text),
            Theirs::Array(items) => Self::Array(items.into_iter().map(Self::from).collect()),
            Theirs::Object(members) => {
                let mut map = Map::new();
                for (key, value) in members {
                    map.push(key, value.into());
                }
                // serde_json has unique keys in any order.
                map.sort();
                Self::Object(map)
            }
        }
    }
}

impl From<Value> for serde_json::Value {
    fn from(value: Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(truth) => Self::Bool(truth),
            Value::Number(number) => serde_json::from_str(number.as_str()).unwrap_or_default(),
            Value::String(text) => Self::String(text),
            Value::Array(items) => items.into_iter().map(Self::from).collect(),
            Value::Object(members) => members
                .into_iter()
                .map(|(key, value)| (key, Self::from(value)))
                .collect(),
        }
    }
}

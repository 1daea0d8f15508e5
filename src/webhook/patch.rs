//! The JSON patch between the received and the mutated object.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// The JSON patch from `before` to `after` in base64; none if they are equal. The error names the side that cannot be
/// decoded, for example because it nests deeper than 128.
pub(super) fn patch(before: &RawValue, after: &RawValue) -> Result<Option<String>, &'static str> {
    let (before, after) = differing(before, after, DEPTH)?;
    let patch = json_patch::diff(&before, &after);
    if patch.0.is_empty() {
        return Ok(None);
    }
    serde_json::to_vec(&patch)
        .map(|bytes| Some(STANDARD.encode(bytes)))
        .map_err(|_| "a patch")
}

/// The depth to which identical members are left out: a policy changes `metadata.annotations` or `spec`.
const DEPTH: u32 = 3;

/// Both values without members of identical text: they make no difference, and a decoded value takes many times the
/// memory of its text.
fn differing(before: &RawValue, after: &RawValue, depth: u32) -> Result<(Value, Value), &'static str> {
    let objects = members(before).zip(members(after)).filter(|_| depth > 0);
    let Some((old, new)) = objects else {
        return Ok((decoded_before(before)?, decoded_after(after)?));
    };
    let (mut less_old, mut less_new) = (Map::new(), Map::new());
    for (key, &before) in &old {
        match new.get(key) {
            None => drop(less_old.insert(key.clone(), decoded_before(before)?)),
            Some(after) if after.get() == before.get() => {}
            Some(after) => {
                let (before, after) = differing(before, after, depth - 1)?;
                less_old.insert(key.clone(), before);
                less_new.insert(key.clone(), after);
            }
        }
    }
    for (key, after) in new.iter().filter(|(key, _)| !old.contains_key(*key)) {
        less_new.insert(key.clone(), decoded_after(after)?);
    }
    Ok((less_old.into(), less_new.into()))
}

fn decoded_before(value: &RawValue) -> Result<Value, &'static str> {
    serde_json::from_str(value.get()).map_err(|_| "an object")
}

fn decoded_after(value: &RawValue) -> Result<Value, &'static str> {
    serde_json::from_str(value.get()).map_err(|_| "a mutated object")
}

/// The members of an object; none if the value is no object.
fn members(value: &RawValue) -> Option<BTreeMap<String, &RawValue>> {
    serde_json::from_str(value.get()).ok()
}

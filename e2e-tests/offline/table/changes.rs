//! The differences between two values.

use serde_json::Value;

/// A difference between two values.
pub(super) struct Change<'a> {
    pub(super) path: Vec<String>,
    pub(super) before: Option<&'a Value>,
    pub(super) after: Option<&'a Value>,
}

impl Change<'_> {
    /// The JSON pointer of the difference.
    pub(super) fn path(&self) -> String {
        let escaped = |segment: &String| segment.replace('~', "~0").replace('/', "~1");
        self.path
            .iter()
            .map(|segment| format!("/{}", escaped(segment)))
            .collect()
    }
}

/// The differences between two values, down to values that are not objects on both sides. An object opposite nothing is
/// compared with an empty one.
pub(super) fn changes<'a>(before: &'a Value, after: &'a Value) -> Vec<Change<'a>> {
    let mut changes = Vec::new();
    descend(Some(before), Some(after), &mut Vec::new(), &mut changes);
    changes
}

fn descend<'a>(
    before: Option<&'a Value>,
    after: Option<&'a Value>,
    path: &mut Vec<String>,
    changes: &mut Vec<Change<'a>>,
) {
    let fields = |value: Option<&'a Value>| value.and_then(Value::as_object).filter(|fields| !fields.is_empty());
    let is_map = |value: Option<&Value>| value.is_none_or(|value| value.is_null() || value.is_object());
    let (old, new) = (fields(before), fields(after));
    if before == after {
        return;
    }
    if !is_map(before) || !is_map(after) || (old.is_none() && new.is_none()) {
        return changes.push(Change {
            path: path.clone(),
            before,
            after,
        });
    }
    let keys = old.iter().chain(&new).flat_map(|fields| fields.keys());
    let mut keys: Vec<&String> = keys.collect();
    keys.sort_unstable();
    keys.dedup();
    for key in keys {
        path.push(key.clone());
        descend(
            old.and_then(|old| old.get(key)),
            new.and_then(|new| new.get(key)),
            path,
            changes,
        );
        path.pop();
    }
}

/// An error in words unless this holds.
pub(super) fn ensure(holds: bool, what: &str) -> Result<(), String> {
    if holds {
        Ok(())
    } else {
        Err(format!("expected that {what}"))
    }
}

//! What may change in a template (KEP-4650, "Kubernetes API Changes"), and what is said about the rest.

use crate::templates::{Change, Diff, FrozenChange, keys};

use super::message;

/// What may change, as refusals end.
const ALLOWED: &str = "what can change is spec.resources.requests.storage (larger only), spec.volumeAttributesClassName, \
                       metadata.labels and metadata.annotations";

/// Every fault of a wish, one clause each; empty iff the wish may be staged.
#[must_use]
pub fn faults(diff: &Diff) -> Vec<String> {
    let mut faults = Vec::new();
    for template in &diff.added {
        faults.push(format!(
            "{}: a template cannot be added",
            message::path_of_template(template)
        ));
    }
    for template in &diff.removed {
        faults.push(format!(
            "{}: a template cannot be removed or renamed",
            message::path_of_template(template)
        ));
    }
    for change in &diff.changed {
        for frozen in &change.frozen {
            faults.push(frozen_fault(&change.template, frozen));
        }
        for allowed in &change.changes {
            faults.extend(storage_fault(&change.template, allowed));
            faults.extend(reserved_fault(&change.template, allowed));
        }
    }
    faults
}

/// The faults in one line.
#[must_use]
pub fn refusal(faults: &[String]) -> String {
    message::refusal(&format!("{}; {ALLOWED}", faults.join("; ")))
}

fn frozen_fault(template: &str, frozen: &FrozenChange) -> String {
    let value = |text: &Option<String>| text.as_deref().map_or_else(|| "nothing".to_owned(), message::shown);
    format!(
        "{}: cannot change, expected {}, but found {}",
        message::path(template, &frozen.field),
        value(&frozen.from),
        value(&frozen.to)
    )
}

/// Growth to an amount that a volume can have is allowed, everything else is not.
fn storage_fault(template: &str, change: &Change) -> Option<String> {
    let Change::Storage { from, to } = change else {
        return None;
    };
    let path = message::path(template, &change.field());
    let Some(to) = to else {
        return Some(format!("{path}: cannot be removed"));
    };
    if let Err(error) = to.bytes() {
        return Some(format!("{path}: {error}, but found {to}"));
    }
    match from {
        Some(from) if to < from => Some(format!(
            "{path}: cannot shrink, expected at least {from}, but found {to}"
        )),
        _ => None,
    }
}

/// Keys that other controllers obey cannot be set on claims by way of a template.
fn reserved_fault(template: &str, change: &Change) -> Option<String> {
    let (Change::Label(key) | Change::Annotation(key)) = change else {
        return None;
    };
    let path = message::path(template, &change.field());
    keys::is_reserved(&key.key).then(|| format!("{path}: is reserved, expected no change"))
}

//! Parts of the objects that alice and bob write.

use serde_json::{Value, json};

use crate::templates::{ClaimTemplate, Phase, Revision, StagedChange, Staging, UpdatePolicy};

/// The revision of what alice staged.
pub(super) const REVISED: &str = "m6mrc6cwlq";

/// A template of a size.
pub(super) fn template(size: &str) -> Value {
    json!({"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": size}}}})
}

/// A staged change.
pub(super) fn staged_change(size: &str, uid: &str, update_policy: UpdatePolicy, phase: Phase) -> String {
    let templates = ClaimTemplate::list_from_value(json!([template(size)])).unwrap_or_default();
    let (by, manager, uid) = ("alice".to_owned(), "helm".to_owned(), uid.to_owned());
    let staging = Staging::of(&uid, "1", &Revision::of(&templates));
    let change = StagedChange {
        by,
        manager,
        phase,
        replicas: 0,
        staging,
        templates,
        uid,
        update_policy,
    };
    change.write().unwrap_or_default()
}

//! Which StatefulSets are in a bundle, and what belongs to them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::templates::keys::PREFIX;
use crate::templates::names::ordinal_of;

/// The StatefulSets of a bundle, with the names of their templates, by namespace and name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct BundledSets(BTreeMap<(String, String), BTreeSet<String>>);

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn place(object: &Value) -> (String, String) {
    let part = |pointer| text(object, pointer).to_owned();
    (part("/metadata/namespace"), part("/metadata/name"))
}

impl BundledSets {
    /// The sets that have an annotation of ours or a ClaimRollout. A ClaimRollout counts even if its set does not exist.
    pub(super) fn of(sets: &[Value], rollouts: &[Value]) -> Self {
        let mut scope = Self::default();
        for rollout in rollouts {
            scope
                .0
                .entry(place(rollout))
                .or_default()
                .extend(names(&rollout["spec"]["templates"]));
        }
        for set in sets {
            let annotations = set["metadata"]["annotations"].as_object();
            let is_annotated = annotations.is_some_and(|all| all.keys().any(|key| key.starts_with(PREFIX)));
            let place = place(set);
            if is_annotated || scope.0.contains_key(&place) {
                let templates = names(&set["spec"]["volumeClaimTemplates"]);
                scope.0.entry(place).or_default().extend(templates);
            }
        }
        scope
    }

    /// The namespaces of the sets.
    pub(super) fn namespaces(&self) -> BTreeSet<&str> {
        self.0.keys().map(|(namespace, _)| namespace.as_str()).collect()
    }

    pub(super) fn has_set(&self, set: &Value) -> bool {
        self.0.contains_key(&place(set))
    }

    pub(super) fn has_claim(&self, claim: &Value) -> bool {
        let (namespace, name) = place(claim);
        self.gives(&namespace, &name)
    }

    /// True iff the Event is about one of the sets, its ClaimRollout or a PVC of it.
    pub(super) fn has_subject(&self, event: &Value) -> bool {
        let part = |key| text(event, key);
        let (namespace, name) = (part("/involvedObject/namespace"), part("/involvedObject/name"));
        match part("/involvedObject/kind") {
            "StatefulSet" | "ClaimRollout" => self.0.contains_key(&(namespace.to_owned(), name.to_owned())),
            "PersistentVolumeClaim" => self.gives(namespace, name),
            _ => false,
        }
    }

    /// True iff a set gives this name to a PVC.
    fn gives(&self, namespace: &str, name: &str) -> bool {
        let mut sets = self.0.iter().filter(|((of, _), _)| of == namespace);
        sets.any(|((_, set), templates)| {
            templates
                .iter()
                .any(|template| ordinal_of(name, template, set).is_some())
        })
    }
}

fn names(templates: &Value) -> Vec<String> {
    let templates = templates.as_array().into_iter().flatten();
    templates
        .map(|template| text(template, "/metadata/name").to_owned())
        .collect()
}

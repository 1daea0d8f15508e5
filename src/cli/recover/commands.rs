//! The command lines of cures.

use serde_json::{Value, json};

use crate::rollout::SetView;
use crate::templates::{Change, ClaimTemplate, Diff, Quantity};

/// Writes command lines for one StatefulSet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Commands<'a> {
    /// The command that runs this program.
    pub(super) program: &'a str,
    pub(super) set: &'a SetView,
}

impl Commands<'_> {
    /// The patch that asks for these templates: only the sizes, if nothing else differs from the live templates.
    pub(super) fn stage(&self, asked: &[ClaimTemplate]) -> String {
        let diff = Diff::between(&self.set.live, asked);
        let is_size = |change: &Change| matches!(change, Change::Storage { .. });
        let sizes_only = diff.added.is_empty()
            && diff.removed.is_empty()
            && diff
                .changed
                .iter()
                .all(|change| change.frozen.is_empty() && change.changes.iter().all(is_size));
        let (kind, patch) = if sizes_only {
            ("json", self.sizes(asked))
        } else {
            let templates: Value = asked.iter().map(|template| Value::from(template.to_value())).collect();
            ("merge", json!({"spec": {"volumeClaimTemplates": templates}}))
        };
        let SetView { name, namespace, .. } = self.set;
        format!(
            "kubectl patch statefulset {name} -n {namespace} --type={kind} -p {}",
            quoted(&patch)
        )
    }

    /// The JSON patch of the sizes that differ from the live ones.
    fn sizes(&self, asked: &[ClaimTemplate]) -> Value {
        let replace = |(index, live): (usize, &ClaimTemplate)| {
            let size = asked.iter().find(|template| template.name == live.name)?.storage;
            let size = size.filter(|_| size != live.storage)?;
            let path = format!("/spec/volumeClaimTemplates/{index}/spec/resources/requests/storage");
            Some(json!({"op": "replace", "path": path, "value": size.to_string()}))
        };
        self.set.live.iter().enumerate().filter_map(replace).collect()
    }

    pub(super) fn withdraw(&self) -> String {
        self.ours("withdraw")
    }

    pub(super) fn retry(&self) -> String {
        self.ours("retry")
    }

    /// The command, and after it the one that ends a pause of the rollout.
    pub(super) fn resuming(&self, command: String) -> Vec<String> {
        let resume = self.set.paused.then(|| self.ours("resume"));
        [command].into_iter().chain(resume).collect()
    }

    pub(super) fn patch_claim(&self, claim: &str, size: Quantity) -> String {
        let patch = json!({"spec": {"resources": {"requests": {"storage": size.to_string()}}}});
        format!(
            "kubectl patch pvc {claim} -n {} -p {}",
            self.set.namespace,
            quoted(&patch)
        )
    }

    pub(super) fn restart(&self, ordinal: u32) -> String {
        format!(
            "kubectl delete pod {}-{ordinal} -n {}",
            self.set.name, self.set.namespace
        )
    }

    fn ours(&self, command: &str) -> String {
        let SetView { name, namespace, .. } = self.set;
        format!("{} {command} {name} -n {namespace}", self.program)
    }
}

/// A JSON document as one word of a shell.
fn quoted(document: &Value) -> String {
    format!("'{}'", document.to_string().replace('\'', r"'\''"))
}

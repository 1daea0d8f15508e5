//! The part of a kubelet that kwok does not simulate: the expansion of file systems. The writes and their order are
//! those of `pkg/volume/util/operationexecutor/node_expander.go` and `pkg/volume/util/resize_util.go` of Kubernetes.

use anyhow::ensure;
use serde_json::{Value, json};

use super::namespace::TestNamespace;

/// The conditions that are removed when a file system has grown; others stay.
const OF_EXPANSION: [&str; 4] = [
    "Resizing",
    "FileSystemResizePending",
    "ControllerResizeError",
    "NodeResizeError",
];

impl TestNamespace<'_> {
    /// The file system has grown: `MarkNodeExpansionFinishedWithRecovery`.
    pub(crate) async fn node_grows(&self, claim: &str) -> anyhow::Result<()> {
        let status = self.status_of(claim).await?;
        let conditions = conditions(&status, |kind| !OF_EXPANSION.contains(&kind));
        let grown = json!({
            "capacity": status["allocatedResources"], "allocatedResourceStatuses": null, "conditions": conditions,
        });
        self.write_status(claim, &grown).await
    }

    /// The status of a PVC whose file system a kubelet may expand.
    async fn status_of(&self, claim: &str) -> anyhow::Result<Value> {
        let output = self.typed(&format!("get pvc {claim} -o json")).await?;
        let mut claim: Value = serde_json::from_str(&output.stdout)?;
        let status = claim["status"].take();
        let resize = &status["allocatedResourceStatuses"]["storage"];
        ensure!(
            ["NodeResizePending", "NodeResizeInProgress"].contains(&resize.as_str().unwrap_or_default()),
            "{status:#}"
        );
        Ok(status)
    }

    /// Writes the status of a PVC, as a kubelet or a resizer does.
    pub(crate) async fn write_status(&self, claim: &str, status: &Value) -> anyhow::Result<()> {
        let status = json!({"status": status}).to_string();
        let patch = ["--subresource=status", "--type=merge", "--patch", &status];
        self.done(&[&["patch", "pvc", claim][..], &patch].concat(), "").await?;
        Ok(())
    }
}

fn conditions(status: &Value, stays: impl Fn(&str) -> bool) -> Vec<Value> {
    let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
    let stays = |condition: &Value| condition["type"].as_str().is_some_and(&stays);
    conditions.into_iter().filter(stays).collect()
}

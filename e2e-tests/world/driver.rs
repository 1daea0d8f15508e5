//! The behaviour of the mock CSI driver. `go/parts/csi-driver/main.go` reads it at every call.

use std::path::Path;

use serde::Serialize;

/// The behaviour of the driver. The default has no limit, no delay and no error.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Driver {
    /// A larger volume fails with `OUT_OF_RANGE`, at creation and at expansion; 0 means no limit.
    pub(crate) maximum_bytes: u64,
    /// The duration of an expansion. The resizer waits for ten seconds, then asks again.
    pub(crate) expand_delay_millis: u64,
    /// The gRPC status that every expansion fails with, such as `FAILED_PRECONDITION` (the volume is in use). The
    /// resizer tries again after all but `INVALID_ARGUMENT`, `OUT_OF_RANGE` and `NOT_FOUND`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) expand_error: Option<&'static str>,
    /// The gRPC status that every change of the attributes class fails with, such as `INVALID_ARGUMENT`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) modify_error: Option<&'static str>,
    /// The ids of volumes that a Pod uses: their expansion fails with `FAILED_PRECONDITION`, as that of an offline-only
    /// driver. There is no kubelet: `scenarios/offline_only.rs` names them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) in_use: Vec<String>,
    /// After an expansion the PVC is `FileSystemResizePending`. There is no kubelet: `scenarios/kubelet.rs` writes what
    /// a kubelet would write.
    pub(crate) node_expansion_required: bool,
}

impl Driver {
    /// The name of the file in the folder of the control plane.
    pub(super) const FILE: &'static str = "driver.json";

    /// Replaces the file of this name atomically, so that the driver never reads half of it.
    pub(super) fn write(&self, folder: &Path, name: &str) -> anyhow::Result<()> {
        let fresh = folder.join(format!("{name}.new"));
        std::fs::write(&fresh, serde_json::to_vec(self)?)?;
        std::fs::rename(fresh, folder.join(name))?;
        Ok(())
    }
}

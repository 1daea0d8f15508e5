//! `claim-rollout crd`

use kube::CustomResourceExt;

use crate::controller::crd::ClaimRollout;

/// The CustomResourceDefinition of ClaimRollout as YAML, for `kubectl apply -f -`.
///
/// # Errors
/// None that can happen: the definition is made of plain values.
pub fn yaml() -> anyhow::Result<String> {
    Ok(serde_saphyr::to_string(&ClaimRollout::crd())?)
}

//! kruise-manager is down: its webhooks answer nothing, and fail. A replacement creates no Pod, so it needs none of them,
//! except the deletion protection where it was asked for.

use serde_json::{Value, json};

use super::manager::KruiseManager;
use super::protected::LABEL;
use crate::environment::Environment;
use crate::replacing::refused::Refused;
use crate::scenarios::namespace::text;

/// Creates a StatefulSet, and a protected one.
pub(super) async fn prepare(env: &Environment) -> anyhow::Result<[Refused<'_>; 2]> {
    let protected = Refused::prepare(env, "without-protected").await?;
    let label = json!({"metadata": {"labels": {LABEL: "Always"}}});
    protected.patch(&label).await?;
    Ok([Refused::prepare(env, "without-plain").await?, protected])
}

pub(super) async fn kruise_manager_is_needed_only_for_protected_sets(
    env: &Environment,
    kruise: &mut KruiseManager,
    [mut plain, mut protected]: [Refused<'_>; 2],
) -> anyhow::Result<()> {
    kruise.kill()?;
    let before = plain.ns.set().await?;
    plain.roll_out().await?;
    plain.until_replaced(&before).await?;

    protected.roll_out().await?;
    let unanswered = "failed calling webhook \"vbuiltinstatefulset.kb.io\"";
    protected.for_reason("DeleteDenied", unanswered).await?;
    kruise.restart(&env.cluster, true).await?;
    let forbidden = "forbidden by ResourcesProtectionDeletion";
    let is_it = |rollout: &Value| text(&rollout["status"]["replacement"]["message"]).contains(forbidden);
    protected
        .ns
        .until_reported("the answer of kruise-manager", is_it)
        .await?;
    let before = protected.patch(&json!({"metadata": {"labels": {LABEL: null}}})).await?;
    protected.until_replaced(&before).await
}

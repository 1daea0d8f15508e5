//! A StatefulSet with OpenKruise's deletion protection is not replaced, and nothing is lost.

use anyhow::ensure;
use serde_json::json;

use crate::environment::Environment;
use crate::replacing::refused::Refused;
use crate::scenarios::namespace::condition;

/// OpenKruise denies the DELETE of an object with this label.
pub(super) const LABEL: &str = "policy.kruise.io/delete-protection";

pub(super) async fn always_prevents_a_replacement(env: &Environment) -> anyhow::Result<()> {
    prevents(env, "Always", "").await
}

/// OpenKruise denies only the DELETE of a StatefulSet that has replicas.
pub(super) async fn cascading_prevents_a_replacement(env: &Environment) -> anyhow::Result<()> {
    prevents(env, "Cascading", " and replicas 2>0").await
}

/// The PVCs grow, but the StatefulSet is replaced only after the label is removed.
async fn prevents(env: &Environment, value: &str, further: &str) -> anyhow::Result<()> {
    let namespace = format!("protected-{}", value.to_lowercase());
    let mut refused = Refused::prepare(env, &namespace).await?;
    refused.patch(&json!({"metadata": {"labels": {LABEL: value}}})).await?;
    refused.roll_out().await?;
    let message = format!("forbidden by ResourcesProtectionDeletion for {LABEL}={value}{further}");
    refused.for_reason("DeleteDenied", &message).await?;
    let rollout = refused.ns.rollout().await?;
    println!("{namespace}: {:#}", rollout["status"]);
    ensure!(condition(&rollout, "Ready") == "True", "{rollout:#}");
    let before = refused.patch(&json!({"metadata": {"labels": {LABEL: null}}})).await?;
    refused.until_replaced(&before).await
}

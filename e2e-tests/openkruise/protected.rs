//! A StatefulSet with OpenKruise's deletion protection is not replaced, and nothing is lost.

use crate::environment::Environment;
use crate::replacing::refused::Refused;

/// OpenKruise denies the DELETE of an object with this label.
const LABEL: &str = "policy.kruise.io/delete-protection";

pub(super) async fn protected_set_is_refused_until_the_label_is_gone(env: &Environment) -> anyhow::Result<()> {
    for value in ["Always", "Cascading"] {
        let namespace = format!("protected-{}", value.to_lowercase());
        let mut refused = Refused::prepare(env, &namespace).await?;
        let label = format!("{LABEL}={value}");
        refused.ns.done(&["label", "statefulset", "web", &label], "").await?;
        refused.roll_out().await?;
        let message = format!("forbidden by ResourcesProtectionDeletion for {LABEL}={value}");
        refused.for_reason("DeleteDenied", &message).await?;
        let before = refused.ns.set().await?;
        let label = format!("{LABEL}-");
        refused.ns.done(&["label", "statefulset", "web", &label], "").await?;
        refused.until_replaced(&before).await?;
    }
    Ok(())
}

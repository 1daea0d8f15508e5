//! `volumeAttributesClassName`.

use anyhow::ensure;
use serde_json::json;

use super::namespace::{Environment, TestNamespace, manifest, with_attributes_class};

pub(super) async fn class_and_size_in_one_apply_take_one_patch_per_claim(env: &Environment) -> anyhow::Result<()> {
    if !env.cluster.modifies_volumes() {
        return Ok(());
    }
    let ns = TestNamespace::with_set(env, "attributes", 2).await?;
    let pods = ns.pods().await?;
    let of = |size: &str, class: &str| with_attributes_class(&manifest(2, size), class);
    for (size, class) in [("2Gi", "silver"), ("2Gi", "gold"), ("3Gi", "silver")] {
        let begun = ns.mark().await?;
        ns.target(&of(size, class)).await?;
        ns.until_complete(2, size).await?;
        for claim in ns.claims().await? {
            let current = &claim["status"]["currentVolumeAttributesClassName"];
            ensure!(*current == class, "{claim:#}");
        }
        let written = ns.writes_since(begun).await?;
        let claims = ["data-web-1", "data-web-0"];
        written.claims_follow_one_another(&claims)?;
        written.is_a_rollout(&claims, 0)?;
        for entry in written
            .ours()
            .filter(|entry| entry.resource == "persistentvolumeclaims")
        {
            let expected = json!({
                "resources": {"requests": {"storage": size}}, "volumeAttributesClassName": class,
            });
            ensure!(entry.request.value()["spec"] == expected, "{:#}", entry.request.value());
        }
    }
    ensure!(ns.pods().await? == pods, "Pods restarted");
    Ok(())
}

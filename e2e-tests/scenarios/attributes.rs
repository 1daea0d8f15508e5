//! `volumeAttributesClassName`.

use anyhow::ensure;
use serde_json::json;

use super::scene::{Scene, Stage, manifest};

pub(super) async fn class_and_size_in_one_apply_take_one_patch_per_claim(stage: &Stage) -> anyhow::Result<()> {
    if !stage.cluster.modifies_volumes() {
        return Ok(());
    }
    let scene = Scene::with_set(stage, "attributes", 2).await?;
    let pods = scene.pods().await?;
    let of = |size: &str, class: &str| {
        let line = "      storageClassName: expandable\n";
        manifest(2, size).replace(line, &format!("{line}      volumeAttributesClassName: {class}\n"))
    };
    for (size, class) in [("2Gi", "silver"), ("2Gi", "gold"), ("3Gi", "silver")] {
        let begun = scene.mark().await?;
        scene.target(&of(size, class)).await?;
        scene.until_complete(2, size).await?;
        for claim in scene.claims().await? {
            let current = &claim["status"]["currentVolumeAttributesClassName"];
            ensure!(*current == class, "{claim:#}");
        }
        let written = scene.writes_since(begun).await?;
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
    ensure!(scene.pods().await? == pods, "Pods restarted");
    Ok(())
}

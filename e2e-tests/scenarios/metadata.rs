//! Labels and annotations of the templates.

use anyhow::ensure;
use serde_json::{Value, json};

use super::scene::{Scene, Stage, manifest};

pub(super) async fn labels_and_annotations_follow_the_target(stage: &Stage) -> anyhow::Result<()> {
    let of = |keys: &str| manifest(2, "1Gi").replace("{name: data}\n", &format!("{{name: data{keys}}}\n"));
    let scene = Scene::with(stage, "metadata", &of("")).await?;
    let pods = scene.pods().await?;
    // Labels and annotations of other writers stay.
    scene
        .done(&["label", "pvc", "data-web-1", "data-web-0", "team=storage"], "")
        .await?;
    for (keys, tier, note) in [
        (
            ", labels: {tier: a}, annotations: {example.com/note: first}",
            json!("a"),
            json!("first"),
        ),
        (
            ", labels: {tier: b}, annotations: {example.com/note: second}",
            json!("b"),
            json!("second"),
        ),
        (", labels: {tier: b}", json!("b"), Value::Null),
        (", labels: {other: c}", Value::Null, Value::Null),
    ] {
        let begun = scene.mark().await?;
        let output = scene.target(&of(keys)).await?;
        ensure!(output.stderr.contains("claim-rollout: staged data"), "{output:?}");
        scene.until_complete(2, "1Gi").await?;
        for claim in scene.claims().await? {
            let metadata = &claim["metadata"];
            let found = (
                &metadata["labels"]["tier"],
                &metadata["annotations"]["example.com/note"],
                &metadata["labels"]["team"],
            );
            ensure!(found == (&tier, &note, &json!("storage")), "{keys}: {claim:#}");
        }
        let written = scene.writes_since(begun).await?;
        let claims = ["data-web-1", "data-web-0"];
        written.claims_follow_one_another(&claims)?;
        written.is_a_rollout(&claims, 0)?;
    }
    ensure!(scene.pods().await? == pods, "Pods restarted");
    Ok(())
}

//! Labels and annotations of the templates.

use anyhow::ensure;
use serde_json::{Value, json};

use crate::world::namespace::{Environment, TestNamespace, manifest};

pub(super) async fn labels_and_annotations_follow_the_target(env: &Environment) -> anyhow::Result<()> {
    let of = |keys: &str| manifest(2, "1Gi").replace("{name: data}\n", &format!("{{name: data{keys}}}\n"));
    let ns = TestNamespace::with(env, "metadata", &of("")).await?;
    let pods = ns.pods().await?;
    // Labels and annotations of other writers stay.
    ns.done(&["label", "pvc", "data-web-1", "data-web-0", "team=storage"], "")
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
        let begun = ns.mark().await?;
        let output = ns.target(&of(keys)).await?;
        ensure!(output.stderr.contains("claim-rollout: staged data"), "{output:?}");
        ns.until_complete(2, "1Gi").await?;
        for claim in ns.claims().await? {
            let metadata = &claim["metadata"];
            let found = (
                &metadata["labels"]["tier"],
                &metadata["annotations"]["example.com/note"],
                &metadata["labels"]["team"],
            );
            ensure!(found == (&tier, &note, &json!("storage")), "{keys}: {claim:#}");
        }
        let written = ns.writes_since(begun).await?;
        let claims = ["data-web-1", "data-web-0"];
        written.claims_follow_one_another(&claims)?;
        written.is_a_rollout(&claims, 0)?;
    }
    ensure!(ns.pods().await? == pods, "Pods restarted");
    Ok(())
}

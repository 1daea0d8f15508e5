//! Labels and annotations of the templates.

use anyhow::ensure;
use serde_json::{Value, json};

use crate::world::World;
use crate::world::web::Web;

pub(super) async fn labels_and_annotations_follow_the_target(env: &World) -> anyhow::Result<()> {
    let ns = env.with_set("metadata", 2).await?;
    let pods = ns.pods().await?;
    // Labels and annotations of other writers stay.
    ns.typed("label pvc data-web-1 data-web-0 team=storage").await?;
    for wanted in [
        json!({"labels": {"tier": "a"}, "annotations": {"example.com/note": "first"}}),
        json!({"labels": {"tier": "b"}, "annotations": {"example.com/note": "second"}}),
        json!({"labels": {"tier": "b"}}),
        json!({"labels": {"other": "c"}}),
    ] {
        let begun = ns.mark().await?;
        let output = ns
            .target(&Web::replicas(2).template(&json!({"metadata": wanted})))
            .await?;
        ensure!(output.stderr.contains("claim-rollout: staged data"), "{output:?}");
        ns.until_complete(2, "1Gi").await?;
        for claim in ns.claims().await? {
            let metadata = &claim["metadata"];
            let ours = |metadata: &Value| {
                let labels = ["tier", "other"].map(|key| metadata["labels"][key].clone());
                (labels, metadata["annotations"]["example.com/note"].clone())
            };
            let as_wanted = ours(metadata) == ours(&wanted) && metadata["labels"]["team"] == "storage";
            ensure!(as_wanted, "{wanted}: {claim:#}");
        }
        let written = ns.writes_since(begun).await?;
        let claims = ["data-web-1", "data-web-0"];
        written.claims_follow_one_another(&claims)?;
        written.is_a_rollout(&claims, 0)?;
    }
    ensure!(ns.pods().await? == pods, "Pods restarted");
    Ok(())
}

//! An unusual StatefulSet: ordinals from 5, two templates, a selector without `matchLabels`.

use crate::world::namespace::{Environment, TestNamespace, manifest, with_image, with_spec};

pub(super) async fn ordinals_from_5_two_templates_and_expressions_roll_out(env: &Environment) -> anyhow::Result<()> {
    let of = |size: &str| {
        let claim = format!(
            "  - metadata: {{name: logs}}
    spec:
      accessModes: [ReadWriteOnce]
      storageClassName: expandable
      resources: {{requests: {{storage: {size}}}}}
"
        );
        let manifest = with_spec(&manifest(3, size), "  ordinals: {start: 5}")
            .replace(
                "matchLabels: {app: web}",
                "matchExpressions: [{key: app, operator: In, values: [web]}]",
            )
            .replace(
                "        - {name: data, mountPath: /data}\n",
                "        - {name: data, mountPath: /data}\n        - {name: logs, mountPath: /logs}\n",
            );
        format!("{manifest}{claim}")
    };
    let ns = TestNamespace::with(env, "ordinals", &of("1Gi")).await?;
    let begun = ns.mark().await?;
    ns.target(&with_image(&of("2Gi"), "2")).await?;
    ns.until_claims_complete(3, 6, "2Gi").await?;
    ns.settled().await?;
    let written = ns.writes_since(begun).await?;
    written.pods_follow_their_claims("web", &["data", "logs"], &[7, 6, 5])?;
    let claims = [
        "data-web-7",
        "logs-web-7",
        "data-web-6",
        "logs-web-6",
        "data-web-5",
        "logs-web-5",
    ];
    written.is_a_rollout(&claims, 3)
}

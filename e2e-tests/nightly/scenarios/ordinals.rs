//! An unusual StatefulSet: ordinals from 5, two templates, a selector without `matchLabels`.

use serde_json::json;

use crate::world::World;
use crate::world::web::Web;

pub(super) async fn ordinals_from_5_two_templates_and_expressions_roll_out(env: &World) -> anyhow::Result<()> {
    let of = |size: &str| {
        let expression = json!({"key": "app", "operator": "In", "values": ["web"]});
        let selector = json!({"matchLabels": null, "matchExpressions": [expression]});
        let web = Web::replicas(3).size(size).and_template("logs").mounting("logs");
        web.spec(&json!({"ordinals": {"start": 5}, "selector": selector}))
    };
    let ns = env.with_web("ordinals", &of("1Gi")).await?;
    let begun = ns.mark().await?;
    ns.target(&of("2Gi").image("2")).await?;
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

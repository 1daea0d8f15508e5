//! A rollout with an image while the policy is away: Pods are replaced at once, and their PVCs follow.

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use crate::world::World;
use crate::world::namespace::text;
use crate::world::served::Served;
use crate::world::web::Web;

pub(super) async fn without_policy_pods_go_on_and_claims_follow(env: &World) -> anyhow::Result<()> {
    let mut ns = env.with_set("stopped-without-policy", 3).await?;
    {
        let served = Served::start(&ns, &json!({})).await?;
        env.barriers.hold_claim(&ns.namespace, "data-web-2");
        ns.target(&Web::replicas(3).size("2Gi").image("2")).await?;
        let held = env.barriers.until_held(&ns.namespace).await;
        held.with_context(|| ns.log())?;
        ns.until_denied("web-2").await?;
        served.go().await?;
    }
    // Any event makes the StatefulSet controller try again. It may have done so by itself, and reached this Pod.
    let output = ns
        .kubectl(&["annotate", "pod", "web-0", "example.com/note=hello"], "")
        .await?;
    ensure!(output.success || output.stderr.contains("NotFound"), "{output:?}");
    ns.until_updated(3).await?;
    let pods = ns.list("pod").await?;
    let image = |pod: &Value| text(&pod["spec"]["containers"][0]["image"]);
    let ran: Vec<String> = pods.iter().map(image).collect();
    ensure!(ran == ["example/main:2"; 3], "{ran:?}");
    env.barriers.open(&ns.namespace);
    // The guard is installed, so the controller trusts the staged change.
    ns.until_complete(3, "2Gi").await?;
    ns.controller = None;
    Ok(())
}
